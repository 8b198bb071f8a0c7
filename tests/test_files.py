"""Files that results go to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from plre.errors import UsageError
from plre.files import check_writable, check_writable_folder, write_whole

unprivileged = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.md"
    write_whole(path, "first\n")
    write_whole(path, "é\n")
    assert path.read_bytes() == "é\n".encode()

    def full(*arguments: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "second\n")
    assert path.read_bytes() == "é\n".encode()
    assert os.listdir(tmp_path) == ["report.md"]


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    check_writable(tmp_path / "new")
    check_writable(tmp_path / "there")
    check_writable_folder(tmp_path)
    assert os.listdir(tmp_path) == ["there"]
    assert (tmp_path / "there").read_text() == "kept"


def test_devices_and_pipes_are_not_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")
    check_writable("/dev/null")


@pytest.mark.parametrize("place", ["/proc/m.plre", "{}/no/such/m.plre", "{}/file/m.plre"])
def test_where_no_file_can_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    path = place.format(tmp_path)
    with pytest.raises(UsageError, match=rf"^{path}: no file can be made in {os.path.dirname(path)} \(.+\); choose"):
        check_writable(path)


@unprivileged
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(UsageError, match="Permission denied"):
            check_writable(tmp_path / "m.plre")
    finally:
        tmp_path.chmod(stat.S_IRWXU)
