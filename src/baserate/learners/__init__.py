"""Learners: train models on a stream whose labels arrive after each prediction (supervised online label shift)."""

from baserate.learners.continual_training import ContinualTraining
from baserate.learners.continual_training_resampled import ContinualTrainingResampled
from baserate.learners.lazy_train_by_weights import LazyTrainByWeights
from baserate.learners.train_by_weights import TrainByWeights

__all__ = ["ContinualTraining", "ContinualTrainingResampled", "LazyTrainByWeights", "TrainByWeights"]
