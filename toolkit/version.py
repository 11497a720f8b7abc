"""The version of the package, which records and cards name."""

VERSION = "0.1.0"
