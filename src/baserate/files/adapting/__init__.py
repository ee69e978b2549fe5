"""``baserate adapt``: a file of a model's probabilities is adapted, in pieces that a killed run can resume.

`run` is the place to start reading; `pipeline` shows which thread does what.
"""

from baserate.files.adapting.job import AdaptJob, ColumnRoles
from baserate.files.adapting.run import AdaptResult, ProgressCallback, adapt_file
from baserate.files.adapting.start import what_is_left
from baserate.files.adapting.state import StreamState

__all__ = ["AdaptJob", "AdaptResult", "ColumnRoles", "ProgressCallback", "StreamState", "adapt_file", "what_is_left"]
