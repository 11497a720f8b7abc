"""The folder of a job: locked, recorded, resumed, mirrored at a URL."""

__all__ = ["bitext_run", "mirror", "shard_runs", "text_run", "workspace"]
