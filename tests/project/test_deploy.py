"""The files in deploy/ fit the service."""

import json
import re
from pathlib import Path

import pytest

from baserate.commands.serve import serve
from tests.service.served import adapt, in_loop, made, outputs, serving

DEPLOY = Path(__file__).parents[2] / "deploy"


@in_loop
async def _metrics(folder):
    async with serving(folder) as client:
        await made(client)
        await adapt(client, outputs(5, 1)[0])
        client.app.streams.points.clear()
        await client.app.streams._look_around()
        return set(re.findall(r"^(baserate_\w+)", (await client.get("/metrics")).text, re.MULTILINE))


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml"])
def test_metrics_that_are_drawn_or_watched_exist(tmp_path, name):
    asked = set(re.findall(r"\bbaserate_[a-z_]+", (DEPLOY / name).read_text()))
    assert asked
    assert asked <= _metrics(tmp_path)


def test_the_dashboard_is_json_with_panels_that_do_not_overlap():
    told = json.loads((DEPLOY / "grafana.json").read_text())
    taken = set()
    for panel in told["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


def test_commands_and_variables_exist():
    import inspect

    known = set(re.findall(r"envvar='?\"?(BASERATE_[A-Z_]+)", inspect.getsource(inspect.getmodule(serve))))
    for path in DEPLOY.iterdir():
        if path.is_file():
            assert set(re.findall(r"\bBASERATE_[A-Z_]+", path.read_text())) <= known, path.name
