"""The claims of the papers: each has a verdict, and results that exist or a reason."""

from research.reports.figures_claims import CLAIMS, EXPERIMENTS, UNTESTED, VERDICTS, claims, claims_counted

EACH = [claim for group in CLAIMS.values() for claim in group]


def test_every_claim_has_a_verdict_and_the_results_that_say_so():
    assert len(EACH) == 38 and {claim.verdict for claim in EACH} <= set(VERDICTS)
    for claim in EACH:
        assert all((EXPERIMENTS / f"{name}.json").exists() for name in claim.results), claim.says
        assert claim.results or claim.verdict == UNTESTED, claim.says


def test_the_table_numbers_them():
    lines = claims().splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == [str(n) for n in range(1, 39)]
    assert claims_counted().startswith("38 claims: ")
