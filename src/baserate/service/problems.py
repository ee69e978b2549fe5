"""Problems: everything that the service refuses, as exceptions that know their HTTP status."""


class ProblemError(Exception):
    """Something that a request cannot have, with the status and the words of the answer.

    Parameters
    ----------
    message : str
        What is wrong, what was expected, and what to do.
    field : str
        The field of the body, or the parameter, that is to blame; empty if none is.
    """

    status = 500

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class MalformedError(ProblemError):
    """A body that is not what its content type says."""

    status = 400


class UnauthorizedError(ProblemError):
    """A request without a key that is known."""

    status = 401


class ForbiddenError(ProblemError):
    """A request that its key does not allow, or that comes from another site."""

    status = 403


class TooSlowError(ProblemError):
    """A body that takes too long."""

    status = 408


class TooManyError(ProblemError):
    """More requests than a key may make."""

    status = 429


class NotKnownError(ProblemError):
    """A stream that does not exist."""

    status = 404


class ConflictError(ProblemError):
    """A request that contradicts what is there already."""

    status = 409


class RenewedError(ConflictError):
    """A stream that was defined anew while a request was being read: it has to be read again."""


class TooLargeError(ProblemError):
    """A body with too many bytes, rows, classes, or a stream too many."""

    status = 413


class WrongTypeError(ProblemError):
    """A content type that cannot be read."""

    status = 415


class InvalidError(ProblemError):
    """A body that can be read, with values that make no sense."""

    status = 422


class UnavailableError(ProblemError):
    """A store that cannot be written to, or a server that is about to end; nothing was counted."""

    status = 503
