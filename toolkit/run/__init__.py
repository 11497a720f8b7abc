"""The folder of a job: locked, recorded, resumed, mirrored at a URL."""

__all__ = ["batches", "bitext_run", "mirror", "shard_runs", "text_run", "workspace"]
