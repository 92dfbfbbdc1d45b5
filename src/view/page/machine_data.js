// What is shown, from the server, from this page, or from a file; all alike.
const STATES = ['user', 'kernel', 'runnable', 'stolen', 'irq', 'disk', 'net', 'ipc', 'lock', 'swap', 'sleep', 'idle', 'stopped', 'unknown'];
const WORDS = { user: 'on a CPU, in its own code', kernel: 'on a CPU, in the kernel', runnable: 'ready, waits for a CPU', stolen: 'the hypervisor ran something else', irq: 'interrupted',
  disk: 'waits for a disk or file system', net: 'waits on a connection', ipc: 'waits on a pipe or socket', lock: 'waits for a lock', swap: 'waits for memory',
  sleep: 'sleeps until a time', idle: 'waits for work', stopped: 'stopped', unknown: 'not recognized' };
// Those that count as active time, as everywhere in dwell.
const ACTIVE = ['user', 'kernel', 'runnable', 'stolen', 'irq', 'disk', 'lock', 'swap', 'unknown'];
const LOST = ['runnable', 'stolen', 'irq', 'disk', 'net', 'ipc', 'lock', 'swap', 'unknown'];
const CULPRITS = { steal: 'the hypervisor', irq: 'interrupts', throttle: 'a CPU limit', idle: 'a CPU that had to wake up', timer: 'a timer', device: 'a disk or the network', others: 'others', unknown: 'unknown' };
const OTHERS = '\0others'; // no process has that name
const UNKNOWN = 'unknown'; // of threads whose cgroup, or name, is not known
const activeOf = states => ACTIVE.reduce((sum, state) => sum + (states[state] || 0), 0);
const nameOf = group => group === OTHERS ? 'all others' : group;
const culpritOf = loss => loss.kind === 'thread' ? nameOf(loss.culprit) : CULPRITS[loss.kind] || loss.kind;

const duration = ns => {
  if (!ns) return '0';
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
    if (ns >= size * 0.9995) return (ns / size >= 999.5 ? Math.round(ns / size) : Number((ns / size).toPrecision(3))) + ' ' + unit;
  return Math.round(ns) + ' ns';
};
const lasting = ms => {
  const seconds = Math.round(ms / 1000);
  if (ms < 10000) return duration(ms * 1e6);
  const parts = [[Math.floor(seconds / 86400), 'd'], [Math.floor(seconds / 3600) % 24, 'h'], [Math.floor(seconds / 60) % 60, 'min'], [seconds % 60, 's']].filter(([count]) => count);
  return parts.slice(0, 2).map(([count, unit]) => count + ' ' + unit).join(' ');
};
const count = number => !number ? '0' : number < 0.005 ? '<0.01' : number < 100 ? number.toFixed(2) : String(Math.round(number));
const percent = share => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + ' %';
const clock = (ms, parts) => new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', ...parts });

class Unreadable extends Error {}

// What a group may have done that is not among the largest of a period: no more than all others together.
const mostOf = (period, name) => period.groups.has(name) || !period.groups.has(OTHERS) ? {} : period.groups.get(OTHERS).states;
// Whether that is anything: of active time, as much as is written.
const isUnlisted = (period, name) => activeOf(mostOf(period, name)) / period.ns >= 0.005;

const withKey = loss => ({ ...loss, key: [loss.victim, loss.state, loss.kind, loss.culprit].join('\0') });

function readGroup(group) {
  return { threads: group.threads, states: group.states_ns, waits: group.run_queue_waits };
}

// A serve_period. Times of a file have nanoseconds, of which a date keeps milliseconds.
function readPeriod(period) {
  const start = Date.parse(period.start) + Number((/\.\d{3}(\d+)Z$/.exec(period.start) || [0, 0])[1].toString().padEnd(6, '0')) / 1e6;
  if (!(start > 0) || !(period.duration_ns > 0) || !period.all) throw new Unreadable('A period in this file has no beginning, length or threads.');
  return {
    start, end: start + period.duration_ns / 1e6, ns: period.duration_ns, ...readGroup(period.all),
    groups: new Map(period.groups.map(group => [group.group === null ? OTHERS : group.group, readGroup(group)])),
    blame: period.blame.map(loss => withKey({
      victim: loss.victim === null ? OTHERS : loss.victim, state: loss.state, kind: loss.kind || 'others', culprit: loss.culprit, ns: loss.total_ns })),
  };
}

// Of a program whose workers are watched: those that are stuck now, then the last ones that ended.
function readStalls(program) {
  const now = program.stuck.flatMap(line => line.workers.map(worker => ({ key: `now ${worker.tid}`, tid: worker.tid, ago: null, ns: worker.stuck.duration_ns + program.now_ns - line.end_ns, ...placeOf(worker.stuck) })));
  const ended = program.stalls.map(stall => ({ key: `${stall.tid} ${stall.start_ns}`, tid: stall.tid, ago: (program.now_ns - stall.start_ns - stall.duration_ns) / 1e6, ns: stall.duration_ns, ...placeOf(stall) }));
  return { name: program.process, watched: program.watched, stuck: program.stuck_workers, rows: [...now, ...ended] };
}

const placeOf = stall => ({ cause: stall.cause, reason: stall.reason, place: stall.function, task: stall.task, stack: stall.stack || [] });

function addStates(into, states) {
  for (const [state, ns] of Object.entries(states)) into[state] = (into[state] || 0) + ns;
}

// An interval of `dwell top` or `dwell report`: its rows summed up by process name or cgroup.
function readInterval(interval, unmeasured) {
  const rows = interval.threads || interval.processes || interval.cgroups;
  if (!rows || !(interval.duration_ns > 0)) throw new Unreadable('An interval in this file has no rows.');
  const start = Date.parse(interval.start), all = { threads: 0, states: {} }, groups = new Map(), processes = new Map();
  for (const row of rows) {
    const name = (interval.cgroups ? row.cgroup : row.process) || 'unknown';
    if (!groups.has(name)) groups.set(name, { threads: 0, states: {}, waits: null });
    processes.set(row.pid, name);
    const states = {};
    for (const [state, ns] of Object.entries(row.states_ns)) {
      if (ns === null) unmeasured.add(state);
      else if (ns) states[state] = ns;
    }
    for (const sum of [groups.get(name), all]) {
      sum.threads += row.exited ? 0 : row.threads || 1;
      addStates(sum.states, states);
    }
  }
  const side = party => interval.cgroups ? party.cgroup || 'unknown' : processes.get(party.pid) || party.comm || 'unknown';
  const blame = (interval.blame || []).filter(one => !one.goes_on && LOST.includes(one.state)).map(one => withKey({
    victim: side(one.victim), state: one.state, kind: one.culprit.kind, culprit: one.culprit.kind === 'thread' ? side(one.culprit) : null, ns: one.total_ns + one.earlier_ns }));
  return { start, end: start + interval.duration_ns / 1e6, ns: interval.duration_ns, ...all, waits: null, groups, blame };
}

// The data of a page, {status, findings, periods}.
function readPage(data) {
  const status = data.status || {};
  const findings = data.findings || (status.findings || []).map(finding => finding.text);
  return { name: data.file || status.host || 'a file', status, findings, damage: data.damage, stalls: data.stalls || [], periods: data.periods.map(readPeriod),
    waits: status.source === undefined || status.source === 'bpf', blame: status.blame !== false, unmeasured: new Set(status.unmeasured || []) };
}

function readIntervals(name, intervals) {
  const unmeasured = new Set(), first = intervals[0], quality = first.quality || {};
  const periods = intervals.filter(interval => !interval.final || interval.duration_ns).map(interval => readInterval(interval, unmeasured));
  const sum = key => intervals.reduce((sum, interval) => sum + ((interval.quality || {})[key] || 0), 0);
  const status = { source: (first.sources || ['unknown'])[0], states: quality.states, by: first.cgroups ? 'cgroup' : 'process', lost: sum('lost'), torn: sum('torn'),
    threads: periods[periods.length - 1].threads, measured_ns: intervals.reduce((sum, interval) => sum + interval.duration_ns, 0),
    self_cpu_ns: intervals.reduce((sum, interval) => sum + (interval.self ? interval.self.cpu_ns : 0), 0) };
  const findings = intervals.length === 1 ? (first.findings || []).map(finding => finding.text || finding) : [];
  return { name, status, findings, damage: quality.damage, stalls: [], periods, waits: false, blame: intervals.some(interval => interval.blame), unmeasured };
}

const SUGGESTION = 'dwell report --format html FILE > page.html';
function readText(name, text) {
  if (text.startsWith('DWELLREC')) throw new Unreadable(`${name} is a recording, which is compressed in a way that browsers cannot read. Make a page of it: ${SUGGESTION}`);
  const inside = /<script type="application\/json" id="data">([^<]*)<\/script>/.exec(text);
  if (inside) text = inside[1];
  else if (/^\s*</.test(text)) throw new Unreadable(`${name} is not a page of dwell.`);
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch {
    try {
      parsed = text.split('\n').filter(line => line.trim()).map(line => JSON.parse(line));
    } catch {
      throw new Unreadable(`${name} is neither JSON nor a page of dwell. Of a recording, make a page: ${SUGGESTION}`);
    }
  }
  if (parsed && Array.isArray(parsed.paths)) throw new Unreadable(`${name} is the page of a profile: open it by itself.`);
  if (inside && parsed === null) throw new Unreadable(`${name} is the page of dwell serve, which has no data of its own.`);
  if (parsed && parsed.status && Array.isArray(parsed.periods)) return check(name, readPage({ file: name, ...parsed }));
  const list = Array.isArray(parsed) ? parsed : [parsed];
  if (list.length && list.every(one => one && one.type === 'serve_period')) return check(name, readPage({ file: name, periods: list }));
  const intervals = list.filter(one => one && one.type === 'interval');
  if (intervals.length) return check(name, readIntervals(name, intervals));
  throw new Unreadable(`${name} has no intervals: write them by dwell top --format json, or dwell report --format json.`);
}

function check(name, source) {
  if (!source.periods.length) throw new Unreadable(`${name} has no period in it.`);
  source.periods.sort((a, b) => a.start - b.start);
  return source;
}

// All that periods have, together.
function sum(periods) {
  const total = { ns: 0, threads: 0, states: {}, waits: [], groups: new Map(), blame: new Map() };
  const addWaits = (into, waits) => (waits || []).forEach((number, i) => { into[i] = (into[i] || 0) + number; });
  for (const period of periods) {
    total.ns += period.ns;
    total.threads = period.threads;
    addStates(total.states, period.states);
    addWaits(total.waits, period.waits);
    for (const [name, group] of period.groups) {
      if (!total.groups.has(name)) total.groups.set(name, { name, threads: 0, states: {}, waits: [], more: {}, listed: {} });
      const into = total.groups.get(name);
      into.threads = group.threads;
      addStates(into.states, group.states);
      addWaits(into.waits, group.waits);
    }
    for (const loss of period.blame) {
      if (!total.blame.has(loss.key)) total.blame.set(loss.key, { ...loss, ns: 0 });
      total.blame.get(loss.key).ns += loss.ns;
    }
  }
  // what all others did, but for the periods that list the group
  const others = {};
  for (const period of periods) {
    const rest = period.groups.get(OTHERS);
    if (!rest) continue;
    addStates(others, rest.states);
    for (const name of period.groups.keys()) addStates(total.groups.get(name).listed, rest.states);
  }
  for (const group of total.groups.values())
    for (const [state, ns] of Object.entries(others)) group.more[state] = ns - (group.listed[state] || 0);
  return total;
}

// The length below which 99 of 100 waits ended, as the buckets know it; null: there were none.
function p99(waits) {
  const all = waits.reduce((sum, number) => sum + (number || 0), 0);
  let seen = 0;
  for (let i = 0; all && i < waits.length; i++)
    if ((seen += waits[i] || 0) >= all * 0.99) return 2 ** (i + 1);
  return null;
}

// From a server: lists of periods, one for each length that it keeps.
class Server {
  constructor() { this.forget(); }

  forget() { this.kept = []; }

  async ask(path) {
    let response;
    try {
      response = await fetch(location.origin + path, { cache: 'no-store', credentials: 'same-origin' });
    } catch {
      throw new Error('dwell serve does not answer');
    }
    if (response.status === 401) throw new Error('dwell serve wants its token: reload this page, and enter it as the password');
    if (!response.ok) throw new Error(`dwell serve answered ${response.status}: ${(await response.text()).trim()}`);
    return response.json();
  }

  // The coarsest that `pick` says of the lengths that there are, and finer ones for what has come since, for as
  // long as `span` ms. It is asked once they are known: what is kept of a length is complete for one coarsest alone.
  async update(pick, span) {
    const status = await this.ask('/api/status'), lengths = status.period_lengths_ns;
    if (this.since !== status.since) this.forget();
    this.since = status.since;
    if (!status.until) return readPage({ status, periods: [] });
    const now = Date.parse(status.until);
    // its clock was set back
    if (this.kept.some(list => list && list.length && list[list.length - 1].end > now + 5000)) this.forget();
    const top = Math.min(pick(lengths), lengths.length - 1), periods = [];
    let after = now - span;
    for (let i = top; i >= 0; i--) {
      const reach = now - Math.min(span, 720 * lengths[i] / 1e6);
      // a page may stay open for weeks: no more than the server keeps, and of finer ones what is shown
      const kept = this.kept[i] = (this.kept[i] || []).filter(period => period.end > (i === top ? reach : Math.max(reach, after)) - 1);
      const newest = kept.length ? kept[kept.length - 1].end : 0;
      const from = Math.ceil(Math.max(after, reach, newest));
      const fresh = (await this.ask(`/api/history?step=${i ? Math.floor(lengths[i] / 1e9) : 0}&from=${from}`)).map(readPeriod);
      // what a clock that was set back left in the server's list is of no time that has been
      kept.push(...fresh.filter(period => period.end > newest + 1 && period.start <= now));
      const next = kept.filter(period => period.start > after - 1);
      periods.push(...(i === top ? kept : next));
      if (periods.length) after = periods[periods.length - 1].end;
    }
    const stalls = status.stall_programs ? (await this.ask('/api/stalls')).map(readStalls) : [];
    return { ...readPage({ status, stalls, periods: [] }), periods };
  }
}
