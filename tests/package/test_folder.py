import datasets
import pytest

from toolkit.package.folder import FIRST_VERSION, check_version, is_parabank


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.0.0\n", "１.0.0", ""])
def test_other_versions_are_refused(version):
    with pytest.raises(ValueError, match=r"wanted a version MAJOR.MINOR.PATCH"):
        check_version(version)


def test_datasets_reads_our_versions():
    assert str(datasets.Version(check_version(FIRST_VERSION))) == FIRST_VERSION


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"name": "another"}'])
def test_another_parabank_json_is_not_ours(tmp_path, content):
    (tmp_path / "parabank.json").write_text(content)
    assert not is_parabank(tmp_path)
