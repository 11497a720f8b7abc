"""The plots show what the results hold, and those in docs/ are there."""

from research.reports import plots
from research.reports.figures import ROOT, benchmark, experiment


def test_bars_are_as_long_as_the_results():
    axes = plots.decoding().axes
    for size, panel in zip(plots.PANELS, axes, strict=True):
        results = benchmark(f"decoding_{size}")["results"][size]
        widths = [bar.get_width() for bar in panel.patches]
        assert widths == [
            results[plots.key_of(name)]["tokens_per_second"] for name in plots.ENGINES if plots.key_of(name) in results
        ]


def test_the_histogram_is_the_parabanks():
    (axes,) = plots.scores().axes
    bins = experiment("score_histogram")["results"]["dual"]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [row["candidates"] for row in bins] + [row["paraphrases"] for row in bins]


def test_every_plot_is_drawn_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["plots", "--output_dir", str(tmp_path)])
    plots.main()
    text = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    for name in plots.PLOTS:
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (plots.FOLDER / f"{name}.png").is_file() and f"plots/{name}.png)" in text
