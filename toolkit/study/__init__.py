"""Does augmentation help? Classifiers with and without new rows, and the tests of the difference."""

__all__ = ["row_sample", "significance", "study", "study_file", "study_settings", "trials"]
