"""Streams in files: CSV, Parquet and JSON lines in and out, in pieces, so that none has to fit into memory."""
