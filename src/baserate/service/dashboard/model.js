// Streams as the dashboard sees them: one shape, whichever answer or message a figure came with.

/** A stream from the list of all streams. */
export function fromSummary(said) {
  return { ...said, fallback: said.weight < 1, accuracy: said.accuracy ?? unknown(), low: null, high: null };
}

/** A stream from the answer about one stream. */
export function fromDetail(said, before = {}) {
  return {
    ...before,
    ...said,
    weight: said.gate.weight,
    fallback: said.gate.fallback,
    reason: said.gate.reason,
    evidence: said.evidence.value,
    alarm: said.evidence.alarm,
    alarmAt: said.evidence.alarm_at,
    untested: said.evidence.untested,
    findings: said.evidence.findings,
    accuracy: said.estimated_accuracy,
    low: said.bands.map((band) => band[0]),
    high: said.bands.map((band) => band[1]),
    at: before.at ?? null,
    rate: before.rate ?? 0,
  };
}

function unknown() {
  return { value: null, low: 0, high: 1 };
}

const OF_A_POINT = ["at", "round", "rows", "labels", "waiting", "prior", "low", "high", "weight", "evidence", "alarm", "shadow", "accuracy", "rate"];

/** A stream after a live message with its newest figures. Null if its classes are other ones by now. */
export function withPoint(stream, point) {
  if (point.prior.length !== stream.classes.length) return null;
  const next = { ...stream };
  for (const name of OF_A_POINT) next[name] = point[name];
  next.fallback = point.weight < 1;
  if (!next.fallback) next.reason = "";
  return next;
}

/** The column that stands for a stream of two classes: the rarer one in training, which people watch. */
export function watched(stream) {
  return stream.source_prior[0] < stream.source_prior[1] ? 0 : 1;
}

/** Columns, those that moved most first: the change of a share in units of what chance would do to it. */
export function movers(stream, points = []) {
  const moved = stream.source_prior.map((p, c) => {
    const scale = Math.sqrt(Math.max(p, 1e-6));
    let most = Math.abs(stream.prior[c] - p);
    for (const point of points) most = Math.max(most, Math.abs(point.prior[c] - p));
    return most / scale;
  });
  return moved.map((_, c) => c).sort((a, b) => moved[b] - moved[a] || a - b);
}
