"""The Xet storage of the Hub on loopback: a folder that hf_xet itself writes and reads, as it does a server's."""

import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

HEADER = ENTRY = 48  # bytes of a shard's header, and of each of its entries
HASH_ADDED, RANGES_ADDED = 1 << 30, 1 << 31  # flags of a file: its SHA-256 follows; a hash of each of its parts does
END = b"\xff" * 32  # the hash of the entry after the last file


class Xet:
    """A folder in the place of a Xet server.

    Files are cut into chunks by their content; a chunk that the storage has is not sent again. What was sent is in
    `xorbs`, and how files consist of it in `shards`.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.address = f"local://{folder}"

    def sent(self) -> int:
        """The bytes of all chunks that were sent, compressed."""
        chunks = [path for path in self.folder.glob("xet/xorbs/xorbs/*") if path.suffix != ".tagset"]
        return sum(path.stat().st_size for path in chunks)

    def files(self) -> dict[str, tuple[str, int]]:
        """By SHA-256, the Xet hash and the size of every file."""
        shards = sorted(self.folder.glob("xet/xorbs/shards/*.mdb"))
        return {sha256: (xet_hash, size) for shard in shards for sha256, xet_hash, size in files_of(shard.read_bytes())}

    def content(self, sha256: str) -> bytes | None:
        """The content of a file, from a copy of the folder, because a process that writes it has locked it."""
        import hf_xet

        if sha256 not in self.files():
            return None
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.folder, Path(folder, "copy"))
            target = Path(folder, "file")
            with hf_xet.XetSession().new_file_download_group(endpoint=f"local://{folder}/copy") as group:
                group.start_download_file(hf_xet.XetFileInfo(*self.files()[sha256]), str(target))
            return target.read_bytes()


def files_of(shard: bytes) -> Iterator[tuple[str, str, int]]:
    """The SHA-256, the Xet hash and the size of each file of a shard (the Xet protocol's shard format)."""
    at = HEADER
    while shard[at : at + 32] != END:
        xet_hash = spelled(shard[at : at + 32])
        flags, entries = struct.unpack("<II", shard[at + 32 : at + 40])
        at += ENTRY
        size = sum(struct.unpack("<I", shard[at + ENTRY * n + 36 : at + ENTRY * n + 40])[0] for n in range(entries))
        at += ENTRY * entries * (2 if flags & RANGES_ADDED else 1)
        if flags & HASH_ADDED:
            yield spelled(shard[at : at + 32]), xet_hash, size
            at += ENTRY


def spelled(digest: bytes) -> str:
    """A hash as Xet spells it: four numbers of eight bytes each, the lowest byte first."""
    return "".join(digest[at : at + 8][::-1].hex() for at in range(0, 32, 8))
