"""The charts in the documentation show the recorded figures."""

import pytest

from bench.reporting import charts, results
from bench.reporting.charts import Chart


@pytest.mark.parametrize("chart", charts.CHARTS, ids=lambda chart: chart.benchmark)
def test_a_chart_shows_the_recorded_figures(chart: Chart) -> None:
    kept = results.load()
    assert chart in charts.drawable(kept)
    drawing = chart.file.read_text()
    for shown in (chart.title, *chart.series, *chart.groups):
        assert f">{shown}</text>" in drawing
    for value in charts.values(chart, kept).values():
        assert f">{charts.label(value)}</text>" in drawing


def test_a_chart_is_not_drawn_before_its_benchmark_has_run() -> None:
    kept = [entry for entry in results.load() if not str(entry["name"]).startswith("hive:")]
    assert "hive" not in {chart.benchmark for chart in charts.drawable(kept)}


def test_figures_of_another_unit_are_refused() -> None:
    kept = [{**entry, "unit": "ms"} for entry in results.load()]
    with pytest.raises(ValueError, match="is in ms, not s"):
        charts.values(charts.CHARTS[0], kept)
