"""Publish files on the Hub as a version: their contents first, then one commit with all of them, its tag last.

A reader of the branch sees the old version or the new one, never a part of it, and a tag always names a whole version:
the commit is compared with the files on this machine before it is tagged. After an interruption the same call goes on:
what the Hub has is not sent again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, RepoFile, constants, get_token
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    Response,
)

from toolkit.package.checksums import CHECKSUMS
from toolkit.package.folder import check_version
from toolkit.system.contents import hash_file
from toolkit.system.errors import named_line

Result = TypeVar("Result")
Content = Path | bytes
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
GIT = ".gitattributes"  # the Hub's own file
CARD = "README.md"
GROUP = 20  # ours: files whose contents are sent together; a killed process loses at most one group
TRIES, LONGEST_WAIT = 4, 300  # ours: of a request to a busy Hub, and seconds between two
BUSY = (408, 429, 500, 502, 503, 504)  # statuses after which another try may help
NEW, CHANGED, UNCHANGED, REMOVED = "new", "changed", "unchanged", "removed"  # states of a file
XET_TOKEN = "xet-write-token"  # in the address that only a Hub with Xet storage has
WITHOUT_XET = "set HF_HUB_DISABLE_XET=1"
KEPT = "nothing was tagged; run the same command again, and what the Hub has is not sent again"


@dataclass(frozen=True)
class Version:
    """What a version changes on the Hub.

    Attributes:
        name: The repository.
        kind: "dataset" or "model".
        tag: The tag of the version.
        files: By path in the repository, the files or their contents.
        states: By path, whether a file is new, changed, unchanged or removed.
        head: The commit at which the branch is now; None if there is no repository.
        tagged: Whether the Hub has this tag already, with the same files.
    """

    name: str
    kind: str
    tag: str
    files: Mapping[str, Content]
    states: Mapping[str, str]
    head: str | None = None
    tagged: bool = False

    @property
    def sent(self) -> list[str]:
        """The paths of the new and the changed files."""
        return [path for path, state in self.states.items() if state in (NEW, CHANGED)]

    def __str__(self) -> str:
        """A line for each file, and one for all of them."""
        sizes = {path: _count_bytes(content) for path, content in self.files.items()}
        lines = [f"{state:>9} {sizes.get(path, 0):>15,} bytes  {path}" for path, state in self.states.items()]
        states = list(self.states.values())
        state_counts = ", ".join(f"{states.count(state)} {state}" for state in (NEW, CHANGED, UNCHANGED, REMOVED))
        total_bytes, sent_bytes = sum(sizes.values()), sum(sizes[path] for path in self.sent)
        lines.append(
            f"{self.name} {self.tag}: {state_counts}; {sent_bytes:,} of {total_bytes:,} bytes are in new or "
            "changed files"
        )
        return "\n".join(lines)


def publish(
    api: HfApi,
    name: str,
    plan: Callable[[], Version],
    public: bool = False,
    dry_run: bool = False,
    plan_alone: Callable[[], Version] | None = None,
) -> str:
    """Plan a version, print what it changes on the Hub, and publish it.

    Args:
        api: The Hub.
        name: The repository, "owner/name".
        plan: Makes the plan.
        public: Whether everybody may see a repository that is made now.
        dry_run: Print the plan, and change nothing on the Hub.
        plan_alone: Makes the plan without the Hub, for a dry run where it cannot be reached.

    Returns:
        The address of the version; empty after a dry run.

    Raises:
        ValueError: As `_planned`.
        OSError: There is no token that may write, or the Hub cannot be reached or refuses.
    """
    _check_name(name)
    if not dry_run:
        _check_token(api, name)
    try:
        version = plan()
    except ConnectionError:
        if not dry_run or plan_alone is None:
            raise
        print(f"{name}: the Hub cannot be reached, so every file is shown as new", file=sys.stderr)
        version = plan_alone()
    print(version)
    return "" if dry_run else _published(api, version, public)


def _check_token(api: HfApi, name: str) -> None:
    """Refuse a user without a token, or with one that may only read, before anything is read or sent.

    Raises:
        PermissionError: There is no token that may write.
        OSError: The Hub cannot be reached.
    """
    if not (get_token() if api.token is None else api.token):
        raise PermissionError(_token_message(name, "none"))
    with _explain_errors(name):
        role = _request_patiently(api.whoami).get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise PermissionError(_token_message(name, "one that may only read"))


def _planned(
    api: HfApi | None, name: str, kind: str, version: str, files: Mapping[str, Content], record: str
) -> Version:
    """Compare the files of a version with those on the Hub, and refuse what could not be published; write nothing.

    Args:
        api: The Hub; None takes all files for new ones.
        name: The repository, "owner/name"; it need not exist.
        kind: "dataset" or "model".
        version: MAJOR.MINOR.PATCH.
        files: By path in the repository, the files or their contents.
        record: The file by which a repository is known as one that this toolkit published.

    Raises:
        ValueError: The name or the version has another form; the Hub has this version with other files, or a later one;
            the repository holds something else.
        OSError: The Hub cannot be reached.
    """
    tag = f"v{check_version(version)}"
    if api is None:
        return Version(_check_name(name), kind, tag, files, _compare_files(files, {}))
    with _explain_errors(_check_name(name)):
        try:
            refs = _request_patiently(lambda: api.list_repo_refs(name, repo_type=kind))
        except RepositoryNotFoundError:
            return Version(name, kind, tag, files, _compare_files(files, {}))
        tags = {ref.name: ref.target_commit for ref in refs.tags}
        head = next((ref.target_commit for ref in refs.branches if ref.name == constants.DEFAULT_REVISION), None)
        hub_files = _list_files(api, name, kind, tags.get(tag, head))
        states = _compare_files(files, hub_files, _earlier_paths(api, name, kind, tags.get(tag, head)))
    if tag not in tags:
        _check_order(name, version, tags)
        _check_ours(name, set(hub_files), record)
    elif changed_paths := sorted(path for path, state in states.items() if state != UNCHANGED):
        raise ValueError(
            f"wanted a version that {name} does not have, got {version}, which it has with another {changed_paths[0]}: "
            "give a greater --version"
        )
    return Version(name, kind, tag, files, states, head, tag in tags)


def _published(api: HfApi, version: Version, public: bool = False) -> str:
    """Publish a planned version.

    Args:
        api: The Hub.
        version: What `_planned` returned.
        public: Whether everybody may see a repository that is made now; one that exists stays as it is.

    Returns:
        The address of the version.

    Raises:
        OSError: The Hub cannot be reached or refuses; the version has no tag then.
    """
    name, kind = version.name, version.kind
    if not version.tagged:
        with _explain_errors(name):
            if version.head is None:
                _request_patiently(lambda: api.create_repo(name, repo_type=kind, private=not public, exist_ok=True))
            commit = _make_commit(api, version)
            states = _compare_files(version.files, _list_files(api, name, kind, commit))
        _check_complete(name, states)
        with _explain_errors(name):
            _request_patiently(lambda: api.create_tag(name, tag=version.tag, revision=commit, repo_type=kind))
    return f"{api.endpoint}/{'datasets/' if kind == 'dataset' else ''}{name}/tree/{version.tag}"


def _make_commit(api: HfApi, version: Version) -> str:
    """Send the contents of the files, then make the commit; return its id.

    Large files are sent some at a time, and those that the Hub has are not sent again. The branch must be where the
    plan found it. If nothing has changed, there is no new commit.
    """
    additions = [CommitOperationAdd(path, _hub_content(version.files[path])) for path in version.sent]
    deletions = [CommitOperationDelete(path) for path, state in version.states.items() if state == REMOVED]
    if version.head is not None and not additions and not deletions:
        return version.head
    for start in range(0, len(additions), GROUP):
        group = additions[start : start + GROUP]
        api.preupload_lfs_files(version.name, group, repo_type=version.kind, free_memory=False)
    message = f"Version {version.tag[1:]}"
    commit = _request_patiently(
        lambda: api.create_commit(
            version.name,
            [*additions, *deletions],
            commit_message=message,
            repo_type=version.kind,
            parent_commit=version.head,
        )
    )
    return commit.oid


def _list_files(api: HfApi, name: str, kind: str, revision: str | None) -> dict[str, RepoFile]:
    """The files of a revision on the Hub, by path."""
    tree = api.list_repo_tree(name, recursive=True, revision=revision, repo_type=kind)
    return {entry.path: entry for entry in tree if isinstance(entry, RepoFile) and entry.path != GIT}


def _earlier_paths(api: HfApi, name: str, kind: str, revision: str | None) -> set[str]:
    """The files that an earlier version listed in its SHA256SUMS."""
    sums = _download(api, name, CHECKSUMS, kind, revision)
    return set() if sums is None else {line.split("  ", 1)[1] for line in sums.read_text(encoding="utf-8").splitlines()}


def _record_on_hub(api: HfApi, name: str, kind: str, record: str) -> dict:
    """The record of the newest version on the Hub; empty if there is none.

    Raises:
        OSError: The Hub cannot be reached.
    """
    with _explain_errors(name):
        path = _download(api, name, record, kind)
        return {} if path is None else json.loads(path.read_text(encoding="utf-8"))


def _download(api: HfApi, name: str, path: str, kind: str, revision: str | None = None) -> Path | None:
    """A file of the Hub on this machine; None where the repository or the file does not exist.

    Raises:
        OSError: The Hub did not answer, which says nothing about the file.
    """
    try:
        return Path(api.hf_hub_download(name, path, repo_type=kind, revision=revision))
    except LocalEntryNotFoundError as error:
        raise error.__cause__ or ConnectionError(f"no answer of the Hub about {path}") from None
    except (EntryNotFoundError, RepositoryNotFoundError):
        return None


def _compare_files(
    files: Mapping[str, Content], hub_files: Mapping[str, RepoFile], earlier_paths: Set[str] = frozenset()
) -> dict[str, str]:
    """The state of each file; a file that an earlier version had and this one has not is to be removed.

    Args:
        files: By path, the files of the version.
        hub_files: By path, the files on the Hub.
        earlier_paths: The paths that an earlier version listed.
    """
    states = {path: _file_state(content, hub_files.get(path)) for path, content in sorted(files.items())}
    return states | {path: REMOVED for path in sorted(earlier_paths & set(hub_files) - set(files))}


def _file_state(content: Content, hub_file: RepoFile | None) -> str:
    """Whether a file is new, changed or unchanged; large files are compared by SHA-256, others by git's hash."""
    if hub_file is None:
        return NEW
    if hub_file.lfs is not None:
        digest = hash_file(content) if isinstance(content, Path) else hashlib.sha256(content).hexdigest()
        return UNCHANGED if digest == hub_file.lfs.sha256 else CHANGED
    data = content.read_bytes() if isinstance(content, Path) else content
    return UNCHANGED if hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == hub_file.blob_id else CHANGED


def _count_bytes(content: Content) -> int:
    """The bytes of a file or a content."""
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _hub_content(content: Content) -> str | bytes:
    """A file or its content as the Hub's library takes it."""
    return str(content) if isinstance(content, Path) else content


def _check_name(name: str) -> str:
    """Return the name of a repository if it has the Hub's form.

    >>> _check_name("someone/parabank2")
    'someone/parabank2'

    Raises:
        ValueError: It has another form.
    """
    if not HUB_NAME.fullmatch(name):
        raise ValueError(f"wanted a name on the Hub such as someone/parabank2, got {name!r}: give owner and name")
    return name


def _check_order(name: str, version: str, tags: Mapping[str, str]) -> None:
    """Refuse a version before the latest one: the branch would go back.

    Raises:
        ValueError: There is a later version.
    """
    versions = [tag[1:] for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    latest = max(versions, key=_numbers, default=version)
    if _numbers(latest) > _numbers(version):
        raise ValueError(f"wanted a version after {latest}, got {version}: {name} has the later one already")


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are ordered.

    >>> _numbers("1.10.0") > _numbers("1.9.0")
    True
    """
    return tuple(map(int, version.split(".")))


def _check_ours(name: str, hub_paths: set[str], record: str) -> None:
    """Refuse a repository with files that this toolkit did not publish.

    Raises:
        ValueError: It has other files.
    """
    if hub_paths - {CARD} and record not in hub_paths:
        raise ValueError(
            f"wanted a new repository, or one that this toolkit published, got {name} with {min(hub_paths - {CARD})} "
            f"and without {record}: choose another name"
        )


def _check_complete(name: str, states: Mapping[str, str]) -> None:
    """Refuse to tag a commit whose files are not those on this machine.

    Raises:
        ConnectionError: A file is missing or another.
    """
    if wrong_paths := sorted(path for path, state in states.items() if state != UNCHANGED):
        raise ConnectionError(f"wanted all files in the commit of {name}, got another or no {wrong_paths[0]}: {KEPT}")


def _request_patiently(request: Callable[[], Result]) -> Result:
    """The answer to a request that the Hub's library does not repeat: tried again while the Hub is busy.

    Raises:
        HTTPError: The last answer, when no try helped or none can help.
    """
    for number in range(1, TRIES):
        try:
            return request()
        except HfHubHTTPError as error:
            if error.response is None or error.response.status_code not in BUSY:
                raise
            retry_after = error.response.headers.get("Retry-After", "")
            time.sleep(min(int(retry_after) if retry_after.isdigit() else 2**number, LONGEST_WAIT))
    return request()


@contextlib.contextmanager
def _explain_errors(name: str) -> Iterator[None]:
    """Turn the errors of the Hub's library into one line that says what to do.

    Raises:
        PermissionError: There is no token, or it may not write.
        ConnectionError: The Hub cannot be reached, or refuses for another reason.
    """
    try:
        yield
    except RepositoryNotFoundError:
        raise PermissionError(_token_message(name, "one that may not see it")) from None
    except OfflineModeIsEnabled:
        raise ConnectionError(f"wanted the Hub for {name}, got HF_HUB_OFFLINE=1: unset it") from None
    except (HTTPError, RuntimeError, ConnectionError) as error:
        if XET_TOKEN in str(error):
            raise ConnectionError(f"wanted a Hub with Xet storage for {name}, got one without: {WITHOUT_XET}") from None
        response = _find_response(error)
        if response is not None and response.status_code in (401, 403):
            raise PermissionError(_token_message(name, "one that may not write there")) from None
        if response is not None and response.status_code == 412:
            raise ConnectionError(f"wanted {name} as it was a moment ago, got a newer commit: {KEPT}") from None
        actual = named_line(error) if response is None else f"{response.status_code} {response.reason_phrase}"
        raise ConnectionError(f"wanted the Hub to take {name}, got {actual}: {KEPT}") from None


def _find_response(error: BaseException) -> Response | None:
    """The Hub's answer that an error is about, also where its library has wrapped the error; None if there is none."""
    causes = (error, error.__cause__)
    return next(
        (cause.response for cause in causes if isinstance(cause, HfHubHTTPError) and cause.response is not None), None
    )


def _token_message(name: str, actual: str) -> str:
    """The message for a token that is missing or may not write."""
    return f"wanted a token that may write to {name}, got {actual}: run `hf auth login`, or set HF_TOKEN"
