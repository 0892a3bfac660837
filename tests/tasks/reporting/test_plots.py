"""Plots draw what they are given: gaps stay gaps, bands and names are there, the numbers stand beside them."""

import re
from dataclasses import replace

import pytest

from assay.tasks.reporting.parts import BarPlot, LinePlot, Panels, Series
from assay.tasks.reporting.plots import (
    NARROW,
    PANEL,
    WIDE,
    bar_drawing,
    bar_figure,
    line_drawing,
    line_figure,
    line_numbers,
    panels_figure,
)


def plot(*series, **more):
    return LinePlot("title", series or [Series("one", [1, 2, 3], [0.9, 0.8, 0.7])], "x", "y", "It falls.", **more)


def numbers(path):
    return [float(value) for value in re.findall(r"-?\d+\.?\d*", path)]


def lines(drawing, class_="line"):
    return re.findall(rf'<path class="{class_}" d="([^"]*)"', drawing)


def test_a_falling_curve_falls_on_the_page():
    (path,) = lines(line_drawing(plot(), WIDE, "p"))
    ys = numbers(path)[1::2]
    assert ys == sorted(ys)
    assert len(set(ys)) == 3


def test_a_gap_in_the_data_is_a_gap_in_the_line():
    gapped = plot(Series("one", [1, 2, 3, 4, 5], [0.9, 0.8, None, 0.6, float("nan")]))
    assert len(lines(line_drawing(gapped, WIDE, "p"))) == 1
    assert line_drawing(gapped, WIDE, "p").count('class="mark"') == 3


def test_nothing_measured_is_an_empty_frame_and_not_an_error():
    empty = plot(Series("one", [1, 2], [None, None]), Series("two", [], []))
    assert lines(line_drawing(empty, WIDE, "p")) == []
    assert "one" in line_figure(empty, "p")


def test_band_surrounds_its_line():
    drawing = line_drawing(plot(Series("one", [1, 2], [0.5, 0.5], [0.4, 0.3], [0.6, 0.7])), WIDE, "p")
    middle = numbers(lines(drawing)[0])[1]
    around = numbers(lines(drawing, "band")[0])[1::2]
    assert min(around) < middle < max(around)


def test_intervals_are_whiskers_and_lines_are_not():
    interval = Series("one", [1, 2], [0.5, 0.5], [0.4, 0.3], [0.6, 0.7], style="interval")
    drawing = line_drawing(plot(interval), WIDE, "p")
    assert sum(path.count("V") for path in lines(drawing, "whisker")) == 2
    assert lines(drawing) == lines(drawing, "band") == []


def test_steps_hold_their_value():
    (path,) = lines(line_drawing(plot(Series("one", [0, 1, 2], [0, 1, 0], style="steps")), WIDE, "p"))
    assert len(numbers(path)) == 2 * 5


def test_few_short_names_stand_at_their_lines_and_many_in_a_legend():
    few = [Series(f"s{i}", [1, 2], [i, i]) for i in range(3)]
    many = [Series(f"s{i}", [1, 2], [i, i]) for i in range(7)]
    assert 'class="name' in line_drawing(plot(*few), WIDE, "p")
    assert 'class="name' not in line_drawing(plot(*few), NARROW, "p")
    assert 'class="name' not in line_drawing(plot(*many), WIDE, "p")
    assert line_figure(plot(*many), "p").count('class="legend"') == 2


def test_names_at_lines_never_overlap():
    close = [Series(f"s{i}", [1, 2], [0.5, 0.5 + i / 1000]) for i in range(5)]
    places = [float(y) for y in re.findall(r'class="name[^>]* y="([\d.]+)"', line_drawing(plot(*close), WIDE, "p"))]
    assert len(places) == 5
    assert min(abs(a - b) for i, a in enumerate(places) for b in places[:i]) >= 16.9


@pytest.mark.parametrize("size", [WIDE, NARROW, PANEL])
def test_everything_lies_inside_the_drawing(size):
    series = [Series(f"series {i}", list(range(1, 11)), [i / 10 + j / 100 for j in range(10)]) for i in range(4)]
    drawing = line_drawing(plot(*series, scale="percent"), size, "p")
    for path in lines(drawing):
        xs, ys = numbers(path)[0::2], numbers(path)[1::2]
        assert min(xs) >= 0
        assert max(xs) <= size.width
        assert min(ys) >= 0
        assert max(ys) <= size.height


def test_panels_share_their_axes():
    panels = Panels("both", [plot(Series("a", [1, 2], [0, 1])), plot(Series("a", [1, 2], [4, 5]))])
    drawings = re.findall(r"<svg.*?</svg>", panels_figure(panels, "p"))
    ticks = [re.findall(r'text-anchor="end">([^<]*)<', drawing) for drawing in drawings]
    assert ticks[0] == ticks[1]


def test_the_numbers_of_each_panel_stand_under_its_own_name():
    first, second = (replace(plot(Series("a", [1, 2], [0, 1])), title=title) for title in ("Snow", "Fog"))
    html = panels_figure(Panels("both", [first, second]), "p")
    assert (html.count("Snow: "), html.count("Fog: ")) == (1, 1)


def test_longer_bars_are_longer():
    drawing = bar_drawing(BarPlot("t", ["a", "b"], [0.2, 0.4], "x", "alt"), WIDE, "p")
    short, long = (float(width) for width in re.findall(r'class="bar s1"[^>]* width="([\d.]+)"', drawing))
    assert long == pytest.approx(2 * short, abs=0.2)


def test_negative_bars_start_at_zero():
    drawing = bar_drawing(BarPlot("t", ["a", "b"], [-1.0, 1.0], "x", "alt"), WIDE, "p")
    (left, width), (right, _) = re.findall(r'class="bar s1" x="([\d.]+)"[^>]* width="([\d.]+)"', drawing)
    assert float(left) + float(width) == pytest.approx(float(right), abs=0.2)


def test_unmeasured_bar_says_so():
    figure = bar_figure(BarPlot("t", ["a"], [None], "x", "alt", [None], [None]), "p")
    assert "not measured" in figure


def test_long_names_are_cut_in_the_drawing_and_whole_in_the_numbers():
    name = "a labelling function with quite a long name indeed"
    bars = BarPlot("t", [name], [1.0], "x", "alt")
    assert f">{name}<" not in bar_drawing(bars, NARROW, "p")
    assert f"\n{name}\t1" in bar_figure(bars, "p")


def test_marks_set_aside_at_one_place_share_its_row_of_numbers():
    series = [Series("net", [0.0, 1.0], [0.5, 0.75]), Series("other", [0.25, 1.25], [0.25, None])]
    names = {0.0: "ill", 0.25: "ill", 1.0: "well", 1.25: "well"}
    plot = LinePlot("t", series, "class", "y", "alt", x_ticks={0.0: "ill", 1.0: "well"}, x_names=names)
    assert line_numbers(plot) == [("class", "net", "other"), ["ill", "0.500", "0.250"], ["well", "0.750", "–"]]
