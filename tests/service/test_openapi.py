"""The description of the API is complete, and its examples work."""

import re

import pytest

from baserate import RegressAndReweight
from baserate.service.app import ROUTES
from baserate.service.described import EXAMPLES
from baserate.service.openapi import openapi
from tests.service.served import in_loop, serving


def test_every_route_is_described():
    routes = {(route.path, method.lower()) for route in ROUTES for method in route.methods if method != "HEAD"}
    routes -= {("/{path:path}", "get")}
    described = {(path, method) for path, methods in openapi()["paths"].items() for method in methods}
    assert described == routes


def test_every_reference_leads_somewhere():
    told = openapi()
    for name in set(re.findall(r"'#/components/schemas/(\w+)'", str(told))):
        assert name in told["components"]["schemas"]


def test_every_body_has_an_example():
    for path, methods in openapi()["paths"].items():
        for method, operation in methods.items():
            for kind, content in operation.get("requestBody", {"content": {}})["content"].items():
                assert kind != "application/json" or "example" in content, (path, method)


@in_loop
async def test_the_examples_work(tmp_path):
    async with serving(tmp_path) as client:
        stream = "/v1/streams/mail"
        assert (await client.put(stream, json=EXAMPLES["StreamBody"])).status_code == 201
        answer = await client.post(f"{stream}/adapt", json=EXAMPLES["AdaptBody"])
        assert answer.status_code == 200
        assert answer.json().keys() == EXAMPLES["Answer"].keys()
        assert (await client.post(f"{stream}/labels", json=EXAMPLES["LabelsBody"])).json() == EXAMPLES["LabelsFound"]
        assert (await client.patch(stream, json=EXAMPLES["ChangeBody"])).status_code == 200
        assert (await client.post("/v2/models/mail/infer", json=EXAMPLES["InferenceBody"])).status_code == 200


@in_loop
async def test_answers_have_what_is_described(tmp_path):
    schemas = openapi()["components"]["schemas"]
    async with serving(tmp_path) as client:
        await client.put("/v1/streams/mail", json=EXAMPLES["StreamBody"])
        await client.post("/v1/streams/mail/adapt", json=EXAMPLES["AdaptBody"])
        client.app.streams.points.clear()
        await client.app.streams._look_around()
        for path, name in (
            ("/v1/streams/mail", "Stream"),
            ("/v1/streams/mail/history", "History"),
            ("/v1/session", "Session"),
        ):
            assert set((await client.get(path)).json()) == set(schemas[name]["required"])
        summary = (await client.get("/v1/streams")).json()["streams"][0]
        assert set(summary) == set(schemas["Summary"]["required"])
        point = (await client.get("/v1/streams/mail/history")).json()["points"][0]
        assert set(point) == set(schemas["Point"]["required"])


@pytest.mark.filterwarnings("ignore")
def test_what_schemathesis_makes_up_gets_no_500(tmp_path):
    schemathesis = pytest.importorskip("schemathesis")
    assert schemathesis.__version__
    import subprocess
    import sys

    from tests.proving.process import ServerProcess

    left_out = (
        "/events$" if hasattr(RegressAndReweight, "label_requests") else "/events$|/requests$"
    )  # a 501 until then
    with ServerProcess(tmp_path) as server:
        found = subprocess.run(
            [
                sys.executable,
                "-m",
                "schemathesis.cli",
                "run",
                f"{server.url}/openapi.json",
                "--max-examples",
                "15",
                "--checks",
                "not_a_server_error",
                "--exclude-path-regex",
                left_out,
                "--seed",
                "1",
                "--workers",
                "1",
            ],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
