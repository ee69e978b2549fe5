"""Settings: limits and times of a server, from flags and environment variables."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and times of a server.

    Parameters
    ----------
    max_body : int
        The most bytes of a body.
    max_rows : int
        The most rows of a request.
    max_classes : int
        The most classes of a stream.
    max_streams : int
        The most streams.
    max_loaded : int
        The most streams in memory; those that were not asked for the longest are on disk alone.
    rate : float
        Requests a second that each API key may make in the long run; twice as many at once.
    body_seconds : float
        How long a body may take to arrive.
    keep_batches : float
        Seconds for which a `batch_id` is remembered.
    snapshot_entries : int
        The most requests to make again when a stream is loaded.
    session_seconds : float
        How long a login of the dashboard lasts.
    """

    max_body: int = 64 * MEBIBYTE
    max_rows: int = 100_000
    max_classes: int = 1_000
    max_streams: int = 10_000
    max_loaded: int = 2_000
    rate: float = 1_000.0
    body_seconds: float = 30.0
    keep_batches: float = 3_600.0
    snapshot_entries: int = 4_000
    session_seconds: float = 12 * 3_600.0
