"""Logs as lines of JSON on standard error."""

import json
import logging
import sys
import time


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what a record has besides."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def set_up_logs(level: str) -> None:
    """Log to standard error, in JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)  # of the library, about labels that were chosen, for instance
    for name in ("baserate", "uvicorn", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper() if name == "baserate" else "WARNING")
