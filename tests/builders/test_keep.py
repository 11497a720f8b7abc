"""What shards keep of the losers changes neither the parabank nor a count of its card."""

import json
import re

import pytest

from builders.parabank2 import ParaBank2Run, build
from tests.tiny import DEMO, folder
from toolkit.data.shards import read_shard
from toolkit.package.load import load_parabank

LIMITS = {"constraint_sets": 2, "samples_per_set": 5, "clusters": 3, "paraphrases": 2, "max_dual_nll": 30.0}


@pytest.fixture(scope="module")
def parabanks(tmp_path_factory):
    """By what is kept, the parabank of the same run."""

    def run(keep):
        output = tmp_path_factory.mktemp(keep) / "bank"
        models = {"forward": str(folder() / "de-en"), "backward": str(folder() / "en-de"), "dtype": "float32"}
        source = {"bitext": [str(DEMO)], "source_lang": "de", "lang": "en", "limit": 30, "shard_rows": 12, "threads": 1}
        build(ParaBank2Run(**source, **models, **LIMITS, output_dir=str(output), keep=keep))
        return output

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        return {keep: run(keep) for keep in ("all", "chosen", "2")}


def rows_of(output):
    return [row for shard in sorted(output.with_name("bank.shards").glob("rows-*")) for row in read_shard(shard)]


def test_the_shards_keep_what_was_asked_for(parabanks):
    whole, winners, two = (rows_of(parabanks[keep]) for keep in ("all", "chosen", "2"))
    assert sum(len(row.candidates) for row in whole) > 2 * sum(len(row.candidates) for row in two)
    assert any(len(row.candidates) > len(row.paraphrases) + 2 for row in whole)
    for row, winners_row, two_row in zip(whole, winners, two, strict=True):
        assert winners_row.candidates == [candidate for candidate in row.candidates if candidate.rank is not None]
        losers = [loser for loser in row.candidates if loser.rank is None]
        two_losers = [loser for loser in two_row.candidates if loser.rank is None]
        assert two_row.paraphrases == row.paraphrases and len(two_losers) == min(2, len(losers))
        duals = sorted((loser.scores.dual for loser in losers if loser.scores.dual is not None), reverse=True)
        assert (
            sorted((loser.scores.dual for loser in two_losers if loser.scores.dual is not None), reverse=True)
            == duals[:2]
        )


@pytest.mark.parametrize("keep", ["chosen", "2"])
def test_parabank_and_counts_are_the_same(parabanks, keep):
    figures = [json.loads((parabanks[choice] / "statistics.json").read_text()) for choice in ("all", keep)]
    assert figures[0] == figures[1]
    assert figures[0]["candidates"]["refused"] and figures[0]["clusters"]["clusters_per_reference"]
    names = [
        sorted(path.relative_to(parabanks[choice]) for path in parabanks[choice].rglob("*.parquet"))
        for choice in ("all", keep)
    ]
    assert names[0] == names[1]
    for name in names[0]:
        assert (parabanks["all"] / name).read_bytes() == (parabanks[keep] / name).read_bytes()
    cards = [(parabanks[choice] / "README.md").read_text() for choice in ("all", keep)]
    pattern = r"\| `keep` \| \w+ \||, whose shards also hold what was refused"
    assert re.sub(pattern, "", cards[0]) == re.sub(pattern, "", cards[1]) and cards[0] != cards[1]
    assert load_parabank(parabanks[keep].parent / "bank").num_rows == load_parabank(parabanks["all"]).num_rows


@pytest.mark.parametrize("keep", ["none", "0", "-1", "2.5", ""])
def test_what_cannot_be_kept(keep):
    message = f"wanted keep as all, chosen or a number of at least 1, got '{keep}'"
    with pytest.raises(ValueError, match=re.escape(message)):
        ParaBank2Run(bitext=["b"], source_lang="de", lang="en", output_dir="o", forward="f", backward="b", keep=keep)


def test_a_run_goes_on_with_what_it_began_with(parabanks):
    output = parabanks["chosen"]
    settings = json.loads((output.with_name("bank.shards") / "settings.json").read_text())
    fields = {name: value for name, value in settings.items() if name in ParaBank2Run.__dataclass_fields__}
    with pytest.raises(ValueError, match=r"keep was 'chosen', now '2'"):
        build(ParaBank2Run(**fields | {"keep": "2"}))
