"""The rules and the finished runs of the other tests."""

from tests.conftest import (
    demo_parabank,
    demo_run,
    empty_run,
    no_pictures,
    on_a_cpu,
    one_thread,
    packaged_demo,
    starter_is_the_best,
)

__all__ = [
    "demo_parabank",
    "demo_run",
    "empty_run",
    "no_pictures",
    "on_a_cpu",
    "one_thread",
    "packaged_demo",
    "starter_is_the_best",
]
