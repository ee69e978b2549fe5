"""Metrics for Prometheus."""

import re

from tests.service.served import CLASSES, adapt, in_loop, made, outputs, serving


@in_loop
async def test_metrics_of_streams_and_requests(tmp_path):
    async with serving(tmp_path) as client:
        await made(client)
        await adapt(client, outputs(7, 1)[0], ids=list(range(7)))
        await adapt(client, outputs(7, 1)[0], name="none")
        client.app.streams.points.clear()
        await client.app.streams._look_around()
        told = (await client.get("/metrics")).text
        values = {name: float(value) for name, value in re.findall(r"^(baserate_\S+) (\S+)$", told, re.MULTILINE)}
        prior = (await client.get("/v1/streams/mail")).json()["prior"]
        for c, name in enumerate(CLASSES):
            assert values[f'baserate_prior{{class="{name}",stream="mail"}}'] == prior[c]
        assert values['baserate_rows_total{stream="mail"}'] == 7
        assert values['baserate_waiting{stream="mail"}'] == 7
        assert values['baserate_alarm{stream="mail"}'] == 0
        assert values['baserate_correction_weight{stream="mail"}'] == 1
        assert values['baserate_requests_total{route="/v1/streams/{name}/adapt",status="200"}'] == 1
        assert values['baserate_requests_total{route="/v1/streams/{name}/adapt",status="404"}'] == 1
        assert values['baserate_request_seconds_count{route="/v1/streams/{name}/adapt"}'] == 2


@in_loop
async def test_names_in_paths_make_no_series(tmp_path):
    async with serving(tmp_path) as client:
        for i in range(5):
            await client.get(f"/v1/streams/x{i}")
            await client.get(f"/nothing{i}")
            await client.get(f"/v1/streams/x/y{i}")
        told = (await client.get("/metrics")).text
        assert 'route="other",status="404"} 5.0' in told
        assert 'route="/v1/streams/{name}",status="404"} 10.0' in told
