import datasets
import pytest

from toolkit.package.folder import FIRST_VERSION, check_version, is_parabank, language_of


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


def test_a_parabank_and_a_run_state_their_language(tmp_path):
    for name, file, record in (("bank", "parabank.json", '{"settings": {"lang": "nb"}}'),
                               ("run", "settings.json", '{"lang": "nb"}')):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(record)
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    for source in (tmp_path / "bank", tmp_path / "run", f"file://{tmp_path / 'bank'}"):
        assert [language_of(source, lang) for lang in (None, "no", "nb", "nb-NO")] == ["nb", "no", "nb", "nb-NO"]
        with pytest.raises(ValueError, match=r"wanted pairs in en, got .*, which is in nb: give --lang nb"):
            language_of(source, "en")
    for source in (tmp_path / "pairs.tsv", "someone/parabank", f"file://{tmp_path / 'pairs.tsv'}"):
        assert (language_of(source), language_of(source, "en")) == (None, "en")
