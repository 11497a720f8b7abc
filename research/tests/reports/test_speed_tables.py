"""Tables of speed from small results: what is beside what, and the lines of other kinds of processors."""

import json
from pathlib import Path

import pytest

from research.reports import figures, figures_decoding, figures_fastest, figures_paraphrasers, figures_speed

MACHINE = {"cpu": "C", "cpu_family_model": "1/2", "cores": 2, "bf16": True, "vnni": False, "amx": False}
MACHINE |= {"load_average_before": 0.1, "limits": {}}
OTHER = MACHINE | {"cpu": "D", "bf16": False}
LIMITED = MACHINE | {"limits": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"}}
SAID = " Without bfloat16: all engines ran with `ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI`."


@pytest.fixture
def write(tmp_path: Path, monkeypatch):
    """A function that writes a report where the tables look for it."""
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    folder = tmp_path / "research" / "benchmarks" / "results"
    folder.mkdir(parents=True)

    def report(name: str, results: dict, ratios: dict[str, float]) -> None:
        machine = LIMITED if name.endswith("_without_bfloat16") else OTHER if name.endswith("_avx2") else MACHINE
        text = json.dumps({"machine": machine, "results": results, "ratios": ratios})
        (folder / f"{name}.json").write_text(text)

    return report


def lines_of(table: str) -> list[list[str]]:
    """The cells of a table's lines, without the line of dashes."""
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [lines[0], *lines[2:]]


def sampled(rate: float, **more: float) -> dict:
    """What an engine of ours found."""
    return {"tokens_per_second": rate, "tokens_per_row": 2.5, "entropy": 0.7, "mean_tokens": 14.0, **more}


def write_sizes(write) -> None:
    """The reports of all sizes, with bfloat16."""
    for size, ending in figures_decoding.ENDINGS.items():
        results = {"ours": sampled(9), "ours_constrained": sampled(8), "generate_bf16": sampled(2)}
        write(f"decoding_{size}", {size: results}, {f"generate_bf16{ending}": 4.5, f"constraint_cost{ending}": 1.1})


def test_decoding_has_a_line_for_each_size_and_kind_of_processor(write):
    write_sizes(write)
    head, *lines = lines_of(figures_decoding.decoding())
    assert len(lines) == 4 and "Without" not in figures_decoding.decoding()
    assert head[1] == "ours, bf16" and [line[1] for line in lines] == ["8"] * 4
    results = {"ours_float32": sampled(6), "ours_float32_constrained": sampled(5), "generate_fp32": sampled(3)}
    ratios = {"ours_float32_generate_fp32_starter": 2.0, "ours_float32_constraint_cost_starter": 1.2}
    write("decoding_starter_without_bfloat16", {"starter": results}, ratios)
    write("decoding_opus20k_avx2", {"opus20k": results}, {"ours_float32_constraint_cost": 1.3})
    head, *lines = lines_of(figures_decoding.decoding())
    assert [line[0].rpartition(", ")[2] for line in lines[4:]] == ["without bfloat16", "AVX2 alone"]
    assert lines[4][1:] == ["-", "5", "-", "-", "-", "-", "3", "2.50", "0.70"]
    last = " AVX2 alone: D (family/model 1/2), 2 cores; load average 0.1 before the run."
    assert figures_decoding.decoding().endswith(SAID + last)
    head, *lines = lines_of(figures_decoding.decoding_ratios())
    assert head[3:] == [
        "speed-up over `transformers.generate` bf16",
        "speed-up over `transformers.generate` fp32",
        "time with constraints / time without",
    ]
    assert lines[3][3:] == ["4.50 / -", "- / -", "1.10 / -"]
    assert lines[4][3:] == ["- / -", "2.00 / -", "1.20 / -"] and lines[5][-1] == "1.30 / -"


def test_lengths_are_beside_ctranslate2(write):
    results = {"ours": sampled(9), "ours_int8": sampled(12), "ctranslate2_int8": sampled(4)}
    write("lengths", {"40": results}, {"ctranslate2_int8_40_words": 2.25, "ours_int8_ctranslate2_int8_40_words": 3.0})
    shared = ["2.50", "0.70", "14.0"]
    assert lines_of(figures_decoding.lengths())[1:] == [["40", "9", "12", "4", "2.25 / 3.00", *shared]]
    limited = {"ours_float32": sampled(5), "ours_int8": sampled(10), "ctranslate2_int8": sampled(4)}
    ratios = {"ours_float32_ctranslate2_int8_40_words": 1.25, "ours_int8_ctranslate2_int8_40_words": 2.5}
    write("lengths_without_bfloat16", {"40": limited}, ratios)
    last = ["40, without bfloat16", "5", "10", "4", "1.25 / 2.50", *shared]
    assert lines_of(figures_decoding.lengths())[2] == last and figures_decoding.lengths().endswith(SAID)


def test_families_have_a_line_each(write):
    model = {"sizes_of": "google-t5/t5-base", "size": "12+12 x 768, 32,128 pieces", "entropy": 0.71}
    write("families", {"t5": {"model": model, "ours": sampled(20), "generate_bf16": sampled(8)}}, {})
    about = "12+12 x 768, 32,128 pieces: google-t5/t5-base"
    line = ["T5 base", about, "20", "8", "2.50", "2.50", "0.71"]
    assert lines_of(figures_decoding.families())[1:] == [line]
    results = {"model": model, "ours_float32": sampled(9), "generate_fp32": sampled(6)}
    write("families_without_bfloat16", {"t5": results}, {})
    last = ["T5 base, without bfloat16", about, "9", "6", "1.50", "2.50", "0.71"]
    assert lines_of(figures_decoding.families())[1:] == [line, last]


def searched(rate: float, **more: float) -> dict:
    """What a beam search found."""
    return {"sentences_per_second": rate, "mean_tokens": 14.0, "constraints_met": 1.0, **more}


def test_beams_have_a_column_and_lines_without_bfloat16(write):
    results = {"ours_int8": searched(9, score=-0.5), "ours_int8_positive": searched(7), "ctranslate2_int8": searched(8)}
    results["ctranslate2_int8_patience2"] = searched(6, score=-0.25)
    peer = {"transformers_force_words": searched(2, dtype="bfloat16")}
    ratios = {f"ours_int8_beam_cost_{kind}": 1.2 for kind in figures_decoding.COSTS}
    write("constraints_opus20k", {"opus20k": results | peer}, ratios | {"ours_int8_ctranslate2_beam_int8": 1.1})
    assert len(lines_of(figures_decoding.beams())[0]) == 6
    limited = {"ours_int8": searched(6), "ours_int8_positive": searched(5), "ctranslate2_int8": searched(4)}
    peer = {"transformers_force_words": searched(1, dtype="float32")}
    write("constraints_opus20k_without_bfloat16", {"opus20k": limited | peer}, ratios)
    lines = {line[0]: line for line in lines_of(figures_decoding.beams())[1:]}
    assert lines["ours, int8"][1:] == ["9.0", "7.00", "100 %", "14.0", "-0.500", "6.0 / 5.0"]
    assert lines["CTranslate2 int8, patience 2"][1:] == ["6.0", "no constraints per sentence", "", "", "-0.250", "-"]
    assert lines["CTranslate2 int8"][-1] == "4.0"
    assert lines["`force_words_ids` (bf16, the faster of its dtypes)"][-1] == "1.0"
    names = [line[0] for line in lines_of(figures_decoding.beam_ratios())[1:]]
    assert names == ["int8", "int8, without bfloat16"] and figures_decoding.beams().endswith(SAID)


def test_encoders_and_the_pipeline_have_lines_without_bfloat16(write):
    trainings = {name: {"median": 10.0, "seconds_of_the_paper": 60} for name in ("ours_m40", "ours_m1", "peer_100")}
    trainings["peer_4000"] = {"median": 5.0}
    encodings = {f"{program}_word_{batch}": {"median": 4.0} for program in ("ours", "peer") for batch in (32, 1024)}
    encodings |= {f"ours_word_trigram_{batch}": {"median": 3.0} for batch in (32, 1024)}
    ratios = {f"train_{kind}sentence_transformers{end}": 2.0 for kind in ("", "trigram_") for end in ("", "_4000")}
    ratios |= {f"encode_sentence_transformers{end}": 1.0 for end in ("", "_1024")}
    stages = {"shares": {"sampling": 0.5, "dual scoring": 0.4, "clustering": 0.1}, "peak_megabytes": 9.0}
    stages |= {"sentences_per_second": 2.0}
    for ending in ("", "_without_bfloat16"):
        write(f"encoder{ending}", {"word": trainings, "trigram": trainings, "encode": encodings}, ratios)
        write(f"pipeline{ending}", {"stages": stages}, {})
    for table in (figures_speed.encoder_training(), figures_speed.encoding()):
        names = [line[0] for line in lines_of(table)[1:]]
        assert names == [name + end for end in ("", ", without bfloat16") for name in ("WORD", "WORD + TRIGRAM")]
    assert [line[0] for line in lines_of(figures_speed.pipeline())[1:]] == ["with bfloat16", "without bfloat16"]
    assert figures_speed.pipeline().endswith(SAID) and figures_speed.encoder_training().endswith(SAID)


def test_paraphrasers_have_a_line_for_each_model(write):
    engines, peers = figures_paraphrasers.ENGINES, figures_paraphrasers.PEERS
    results = {engine: {"sentences_per_second": rate} for rate, engine in enumerate(engines, 10)}
    ratios = {prefix + peer: 2.0 for prefix in figures_paraphrasers.OURS.values() for peer in peers}
    sized = {f"{name}_t5_small": 3.0 for name in ratios if not name.startswith("int8_")}  # T5 has no int8
    small = {engine: result for engine, result in results.items() if engine != "ours_equal_int8"}
    memory = {"memory": {"1000 texts": 500.4, "100000 texts": 501.0}}
    write("paraphraser", {"starter": results | memory, "t5_small": small}, ratios | sized)
    write("paraphraser_without_bfloat16", {"starter": results}, ratios)
    names = ["starter", "T5-small", "starter, without bfloat16"]
    speed = figures_paraphrasers.paraphraser_speed()
    assert [line[0] for line in lines_of(speed)[1:]] == names and speed.endswith(SAID)
    assert lines_of(speed)[1][1:] == ["10.0", "11.0", "12.0", "13.0", "14.0", "15.0", "16.0"]
    assert lines_of(speed)[2][1:4] == ["10.0", "-", "12.0"]
    compared = lines_of(figures_paraphrasers.paraphraser_ratios())[1:]
    cells = {name: "3.0 / - / 3.0" if name == "T5-small" else "2.0 / 2.0 / 2.0" for name in names}
    assert compared == [[name, *[cells[name]] * 4] for name in names]
    assert figures_paraphrasers.paraphraser_memory() == "500 MB for 1,000 texts and 501 MB for 100,000 texts"


def test_the_papers_lines_are_below_ours_without_what_it_does_not_say():
    ours = {"best": dict.fromkeys(figures_paraphrasers.TESTED, (1.3, 0.5)), "first": {"ibleu": (1.0, None)}}
    paper = {"best": {"ibleu": (14.57, None)}}
    table = figures_paraphrasers.tested_table({"QQP": {"ParaNet": ours, "the paper": paper}})
    assert lines_of(table)[1] == ["QQP", "ParaNet", *["1.3 ± 0.5"] * 5, "1.0"]
    assert table.splitlines()[-1] == "| QQP | the paper | 14.6 |  |  |  |  |  |"


def test_the_fastest_program_of_each_kind_of_processor_stands_beside_ours(write):
    results = {"ours": sampled(9), "ours_constrained": sampled(8), "ours_int8": sampled(12)}
    write("decoding_starter", {"starter": results | {"generate_bf16": sampled(2), "ctranslate2_int8": sampled(5)}}, {})
    results = {"ours_float32": sampled(200), "generate_fp32": sampled(300)}
    write("decoding_starter_avx2", {"starter": results}, {})
    write("augment", {"starter": {"ours": {"rows_per_second": 1.0}}}, {})  # without judges
    line = ["the same with the starter", "tokens/s", "CTranslate2 or `generate`", "12.0 (2.4)", "-", "200 (0.67)"]
    assert lines_of(figures_fastest.fastest_programs())[1:] == [line]
