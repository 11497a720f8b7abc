"""The rules and the finished runs of the other tests."""

from tests.conftest import (
    demo_parabank,
    demo_run,
    empty_run,
    no_pictures,
    no_search_among_what_stays,
    on_a_cpu,
    one_thread,
    packaged_demo,
    starter_is_the_best,
    templates_are_compiled_once,
)

__all__ = [
    "demo_parabank",
    "demo_run",
    "empty_run",
    "no_pictures",
    "no_search_among_what_stays",
    "on_a_cpu",
    "one_thread",
    "packaged_demo",
    "starter_is_the_best",
    "templates_are_compiled_once",
]
