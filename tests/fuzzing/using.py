"""The use of a crafted file: it is refused, or loads as an object that works in every way."""

import contextlib
import itertools
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import NotFittedError

from baserate import Bank, LabelShiftClassifier
from baserate.adapters import RegressAndReweight
from baserate.calibrators import AutoCalibrator
from baserate.calibrators._softmax_map import SoftmaxMap
from baserate.checks._roles import ESTIMATES, PROBA, X, Y, role_of
from baserate.files.adapting.state import StreamState
from baserate.marginals._batch_estimator import BatchEstimator
from baserate.protocols import Adapter, CorrectableTracker, Learner, MarginalEstimator, Tracker
from baserate.shifts import Adversary
from baserate.state import dumps, loads
from baserate.state.unreadable import UnreadableError
from baserate_lab.models import LinearSGD, ResNet18, TransformerHead
from baserate_lab.paper import published

from .. import exported

REFUSED, FINE = "refused", "fine"
ROUNDS = 3
MOST_CLASSES = 10**4
_IDS = itertools.count()
_PUBLIC = (*exported.classes().values(), published.Lagged)
KEYS = np.array(["paris", "rome", "oslo", "new", "rome"])
IMAGES = np.random.default_rng(0).integers(256, size=(3, 8, 8, 3), dtype=np.uint8)
_BUILDING = (MemoryError, IndexError, FloatingPointError, ZeroDivisionError, SystemError)
"""Errors that a check of the whole file should have come before."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file: a kind (refused, fine, or how it failed), and what was said."""

    kind: str
    said: str = ""

    @property
    def failed(self):
        """True if the file shows a fault of the library."""
        return self.kind not in (REFUSED, FINE)


class WrongError(Exception):
    """An output that is not finite, or not on the simplex."""


def outcome(data):
    """Load the bytes of a file, and use what comes of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            obj = loads(data)
        except ValueError as error:
            cause = error.__cause__
            if isinstance(cause, _BUILDING) and not _in_the_reader(cause):
                return Outcome(f"building: {type(cause).__name__}", str(cause))
            return Outcome(REFUSED, str(error) if isinstance(cause, UnreadableError) else f"({cause!r})")
        except Exception as error:
            return Outcome(f"loading: {type(error).__name__}", str(error))
        step = "using"
        try:
            use(obj)
            step = "saving"
            again = dumps(obj)
            step = "loading again"
            other = loads(again)
            step = "using again"
            use(other)
        except WrongError as error:
            return Outcome(f"{step}: wrong", f"{type(obj).__name__} {error}")
        except Exception as error:
            return Outcome(f"{step}: {type(error).__name__}", f"{type(obj).__name__}: {error}")
        return Outcome(FINE, type(obj).__name__)


def _in_the_reader(error):
    """Tell whether an error was raised while the archive was read, where any of them means a damaged file."""
    trace, names = error.__traceback__, set()
    while trace is not None:
        names.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return "build" not in names and "check_part" not in names and not isinstance(error, MemoryError)


def use(obj):
    """Move an object by some rounds, ask it everything, and check what it says."""
    if isinstance(obj, StreamState):
        _ = obj.classes, obj.unfinished
        obj = obj.adapter
    if isinstance(obj, TransformerHead):
        return  # it needs an encoder, and names none that it may open
    if isinstance(obj, LinearSGD | ResNet18):
        _use_model(obj)
    elif isinstance(obj, Bank):
        _use_bank(obj)
    elif isinstance(obj, LabelShiftClassifier):
        _use_classifier(obj)
    elif isinstance(obj, _PUBLIC):
        _use_in_role(obj)
    else:
        _ask(obj)  # a part of something else


def _use_in_role(obj):
    role = role_of(obj)
    if isinstance(obj, Adversary) and obj.variation is not None and obj.variation > 6:
        return  # more than the few rounds here can have, which is refused when a path is asked for
    try:
        k = _k_of(obj)
    except NotFittedError:
        if not _fit(obj):
            return
        k = _k_of(obj)
    if k > MOST_CLASSES:
        return  # where a number is all that there is of them, no batch can be made to try it with
    for i in range(ROUNDS):
        rows = slice(5 * i, 5 * i + 5)
        if isinstance(obj, Tracker) and not isinstance(obj, Adapter | Learner):
            check(obj.predict(), None)
            obj.update(_sightings(k)[i])
        elif isinstance(obj, Adapter):
            if getattr(obj, "_over", False) or _is_over(obj):
                return
            samples = _samples(obj, k)
            check(obj.predict_proba(samples[:7]), k)
            if (
                isinstance(obj, RegressAndReweight)
                and isinstance(obj.tracker_, CorrectableTracker)
                and obj.max_waiting
                and i
            ):
                with contextlib.suppress(TypeError):  # where ids are numbers
                    obj.update_labels(["16-2", "15-2"], [0, 1])
                _step_with_ids(obj.step, samples[rows])
            else:
                check(obj.step(samples[rows], Y[rows] % k if i == 1 else None).proba, k)
        elif isinstance(obj, Learner):
            if obj._is_over() if hasattr(obj, "_is_over") else False:
                return
            samples = _features(obj._pool.X.shape[1] or 3)
            check(obj.predict_proba(samples[:7]), k)
            obj.update(samples[rows], Y[rows] % k)
        elif k != 3:  # a calibrator or an estimator of another number of classes
            samples = _samples(obj, k)
            if isinstance(obj, MarginalEstimator):
                check(obj.estimate(samples), None)
            else:
                check(obj.transform(samples), k)
            break
        else:
            check(role.output(obj), 3 if role.on_simplex else None)
            break
    _ask(obj)


def _step_with_ids(step, samples):
    """Take in samples with ids, of text or whole numbers: as those that wait are."""
    numbers = [next(_IDS) for _ in range(len(samples))]
    try:
        step(samples, ids=[f"fuzz-{number}" for number in numbers])
    except TypeError as error:
        if not str(error).startswith("ids holds int, str"):
            raise
        step(samples, ids=[10**6 + number for number in numbers])


def _is_over(obj):
    """Tell whether the path that an oracle was given has come to its end: then it says so."""
    path = getattr(obj, "_path", None)
    return path is not None and obj.rounds_ >= len(path)


def _fit(obj):
    """Fit what was never fitted; its parameters are checked then, and may be refused."""
    try:
        role_of(obj).start(obj)
    except (ValueError, TypeError):
        return False
    return True


def _k_of(obj):
    if isinstance(obj, Adapter):
        return (
            obj.predict_proba(np.empty((0, getattr(obj, "_n_features", 3)))).shape[1]
            if not hasattr(obj, "source_prior_")
            else len(obj.source_prior_)
        )
    if isinstance(obj, Tracker):
        return len(obj.predict())
    if isinstance(obj, Learner):
        return obj.n_classes
    if isinstance(obj, BatchEstimator):
        return obj._n_classes()
    if isinstance(obj, SoftmaxMap) and hasattr(obj, "scales_"):
        return len(obj.scales_)
    if isinstance(obj, AutoCalibrator) and hasattr(obj, "n_classes_"):
        return obj.n_classes_
    role_of(obj).output(obj)  # complains where it was never fitted
    return 3


def _sightings(k):
    return ESTIMATES if k == 3 else np.random.default_rng(0).dirichlet(np.ones(k), size=5)


def _samples(obj, k):
    if getattr(obj, "input_kind", "proba") == "features":
        return _features(getattr(obj, "_n_features", 3))
    return PROBA if k == 3 else np.random.default_rng(0).dirichlet(np.ones(k), size=60)


def _features(d):
    return X if d == 3 else np.random.default_rng(0).standard_normal((60, d))


def _use_model(obj):
    try:
        if isinstance(obj, LinearSGD):
            check(obj.predict_proba(_features(obj.coef_.shape[1])[:7]), len(obj.coef_))
        else:
            channels = obj.weights_["mean"].shape[1]
            images = np.resize(IMAGES, (3, 8, 8, channels))
            check(obj.predict_proba(images), len(obj.classes_))
    except AttributeError:
        if hasattr(obj, "coef_" if isinstance(obj, LinearSGD) else "weights_"):
            raise


def _use_bank(bank):
    k = bank.prior(KEYS).shape[1]
    proba = PROBA if k == 3 else np.random.default_rng(0).dirichlet(np.ones(k), size=60)
    for i in range(ROUNDS):
        rows = slice(5 * i, 5 * i + 5)
        check(bank.step(KEYS, proba[rows], Y[rows] % k if i else None).proba, k)
        check(bank.prior(KEYS), k)
    bank.idle(KEYS[:2], 3) if hasattr(bank._tracker, "idle_rows") else None
    bank.drop(["new"])
    bank.expire(10**6)
    _ask(bank)


def _use_classifier(clf):
    try:
        k = len(clf.classes_)
    except NotFittedError:
        return  # its estimator decides what it can be fitted to
    d = np.asarray(getattr(clf.estimator_, "_sums", X)).shape[1]
    samples = _features(d)
    for i in range(ROUNDS):
        rows = slice(5 * i, 5 * i + 5)
        if isinstance(clf.adapter_.tracker_, CorrectableTracker) and clf.adapter_.max_waiting:
            with contextlib.suppress(TypeError):  # where ids are texts
                clf.update_labels([84, 83, i], [None, None, None])
            _step_with_ids(clf.partial_fit, samples[rows])
        else:
            clf.partial_fit(samples[rows])
        check(clf.predict_proba(samples[:7]), k)
        clf.predict(samples[:7])
    _ask(clf.adapter_)


def _ask(obj):
    """Read every public property, and ask what takes no arguments that matter."""
    for name in dir(type(obj)):
        if not name.startswith("_") and isinstance(getattr(type(obj), name), property):
            try:
                getattr(obj, name)
            except (NotFittedError, AttributeError):
                if hasattr(obj, "source_prior_"):
                    raise
    for name in ("prior_interval", "estimated_accuracy", "log_offsets"):
        if hasattr(obj, name) and hasattr(obj, "source_prior_"):
            getattr(obj, name)()
    if hasattr(obj, "prior_interval") and hasattr(obj, "source_prior_"):
        interval = obj.prior_interval()
        if not (np.isfinite(interval).all() and (interval >= -1e-9).all() and (interval <= 1 + 1e-9).all()):
            raise WrongError(f"gives the interval {interval.tolist()}")
    repr(obj)


def check(said, k):
    """Check that numbers are finite; where there are k classes, that rows are on the simplex."""
    said = np.asarray(said)
    if not np.isfinite(said).all():
        raise WrongError("gives numbers that are not finite")
    if k is not None and (
        said.shape[-1] != k or (said < -1e-9).any() or not np.allclose(said.sum(axis=-1), 1.0, atol=1e-6)
    ):
        raise WrongError(f"gives rows off the simplex, such as {said.reshape(-1, said.shape[-1])[0].tolist()}")
