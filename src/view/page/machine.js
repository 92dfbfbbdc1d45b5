// What is in view, and what keys, pointer and buttons do to it.
const SPANS = [[2, '2 min'], [10, '10 min'], [30, '30 min'], [60, '1 h'], [180, '3 h'], [720, '12 h'], [1440, '1 day'], [7200, '5 days']];
const own = JSON.parse(get('data').textContent);
const server = own ? null : new Server();
const shown = new Set(ACTIVE);
let source = null; // what is shown: of the server, of this page, or of a file
let isFile = Boolean(own), paused = false, inShares = false, chosen = null;
let zoom = null; // {from, to}, ms; null: everything there is
let selection = null, cursor = null, anchor = null; // on the time axis
let windows = { a: null, b: null };
let filtering = '', timer = null, trouble = '';

const everything = () => ({ from: source.periods[0].start, to: source.periods[source.periods.length - 1].end });
const inside = (periods, stretch) => periods.filter(period => (period.start + period.end) / 2 >= stretch.from && (period.start + period.end) / 2 < stretch.to);
const touching = (periods, stretch) => periods.filter(period => period.end > stretch.from && period.start < stretch.to);

// Of the chosen group alone.
function ofChosen(period) {
  if (chosen === null) return period;
  return { ...period, ...(period.groups.get(chosen) || { threads: 0, states: {}, waits: [] }), unlisted: isUnlisted(period, chosen) };
}

// Without those in which it is not known what it did.
const listed = periods => periods.filter(period => !period.unlisted);
const view = () => zoom || everything();
const names = text => filtering === '' || text.toLowerCase().includes(filtering);

function facts() {
  const status = source.status, parts = [], unmeasured = STATES.filter(state => source.unmeasured.has(state) && state !== 'unknown');
  if (status.states) parts.push(`${status.states} states by ${status.source}`);
  if (status.threads !== undefined) parts.push(`${status.threads} threads${isFile ? ' at the end' : ''}`);
  if (status.cpus) parts.push(`${status.cpus} CPU${status.cpus === 1 ? '' : 's'}`);
  if (status.kernel) parts.push(`Linux ${status.kernel}`);
  if (status.since) parts.push(`measured for ${lasting(status.measured_ns / 1e6)}`);
  if (status.lost !== undefined) parts.push(`${status.lost} lost`, `${status.torn} torn`);
  if (status.self_cpu_ns && status.measured_ns) parts.push(`dwell itself ${percent(status.self_cpu_ns / status.measured_ns)} of a CPU`);
  if (unmeasured.length) parts.push(`not measured: ${unmeasured.join(', ')}`);
  if (status.dwell) parts.push(`dwell ${status.dwell}`);
  if (!parts.length) parts.push(`${source.periods.length} periods`);
  return parts.join(' · ');
}

function drawHead() {
  const title = isFile || !source.status.host ? source.name : source.status.host;
  get('title').textContent = title;
  document.title = `${title} · dwell`;
  get('facts').textContent = facts();
  get('damage').hidden = !source.damage;
  get('damage').textContent = source.damage ? `Not all of the recording could be read: ${source.damage}` : '';
  const list = get('findings');
  list.textContent = '';
  for (const finding of source.findings) element('li', finding, list);
  list.hidden = !source.findings.length;
  get('live').hidden = isFile;
  get('live').textContent = trouble ? 'no answer' : paused ? 'paused' : 'live';
  get('live').className = 'chip ' + (trouble ? 'gone' : paused ? 'still' : '');
  get('pause').hidden = get('profile').hidden = isFile;
  for (const id of ['span', 'step']) get(id).parentNode.hidden = isFile;
  get('back').hidden = !isFile || !server && source === ownSource;
  get('back').textContent = server ? 'Back to this machine' : 'Back to this recording';
}

function drawStates() {
  const total = sum(listed(touching(source.periods, view()).map(ofChosen))), list = get('states'), focused = document.activeElement && document.activeElement.dataset.state;
  list.textContent = '';
  for (const state of STATES) {
    const missing = source.unmeasured.has(state) && !total.states[state];
    if (!total.states[state] && (missing && state === 'unknown' || !missing && !shown.has(state))) continue;
    if (!total.states[state] && !missing && ['swap', 'stolen', 'irq', 'unknown', 'disk'].includes(state)) continue;
    const button = element('button', undefined, list);
    button.append(swatch(state), `${state} ${missing || !total.ns ? '-' : count((total.states[state] || 0) / total.ns)}`);
    button.title = missing ? 'not measured' : !total.ns ? 'one of all others, here' : WORDS[state];
    button.dataset.state = state;
    button.disabled = missing;
    button.setAttribute('aria-pressed', String(shown.has(state) && !missing));
    button.onclick = () => {
      if (!shown.delete(state)) shown.add(state);
      render();
    };
    if (focused === state) button.focus({ preventScroll: true });
  }
}

function drawCharts() {
  const periods = touching(source.periods, view()).map(ofChosen);
  drawAreas(view(), periods, shown, inShares);
  const hasWaits = drawHeat(view(), periods);
  get('heat').hidden = !hasWaits;
  get('heat-title').textContent = hasWaits ? 'Waits for a CPU, by length' : periods.some(period => period.unlisted) ? 'Waits for a CPU are not known of one of all others' : source.waits ? 'No wait for a CPU ended in this time' : 'Waits for a CPU were not measured by length';
  drawAxis(view());
  drawOverlay();
}

function drawOverlay() {
  place('band-a', view(), windows.a);
  place('band-b', view(), windows.b);
  place('brush', view(), selection);
  place('cursor', view(), cursor === null ? null : { from: cursor, to: cursor });
  get('time').setAttribute('aria-valuemin', 0);
  get('time').setAttribute('aria-valuemax', Math.round((view().to - view().from) / 1000));
  get('time').setAttribute('aria-valuenow', Math.round(((cursor === null ? view().to : cursor) - view().from) / 1000));
  const words = read();
  // a live region: the same words are not to be said again
  if (get('readout').textContent !== words) get('readout').textContent = words;
  get('time').setAttribute('aria-valuetext', words);
}

// The period under the cursor, or the stretch that is selected, in words.
function read() {
  const stretch = selection || (cursor === null ? null : { from: cursor, to: cursor + 1e-3 });
  if (!stretch) return 'Point at a time to read it, drag to zoom; or focus the charts and use the arrow keys.';
  const all = touching(source.periods, stretch).map(ofChosen), periods = listed(all), total = sum(periods);
  if (!all.length) return `${clock(stretch.from)}: nothing was measured`;
  if (!periods.length) return `${clock(stretch.from)}: ${chosen} is one of all others, not among the largest groups`;
  const states = STATES.filter(state => shown.has(state) && total.states[state]).sort((a, b) => total.states[b] - total.states[a]);
  const waits = total.waits.reduce((sum, number) => sum + (number || 0), 0);
  return [`${clock(periods[0].start)}, ${lasting(total.ns / 1e6)}`, ...states.map(state => `${state} ${count(total.states[state] / total.ns)}`),
    ...(waits ? [`${waits} wait${waits === 1 ? '' : 's'} for a CPU, the longest < ${duration(2 ** total.waits.length)}`] : [])].join('  ·  ');
}

function drawTables() {
  const total = sum(touching(source.periods, view())), kinds = { cgroup: ': cgroups', process: ': processes, by name' };
  get('groups-title').textContent = `Groups${kinds[source.status.by] || ''}`;
  groupsTable(total, shown, names);
  stallsTables(source.stalls);
  get('blame-title').textContent = !source.blame ? 'Who made whom wait was not measured' : chosen ? `Who made ${chosen} wait, and whom it made wait` : 'Who made whom wait';
  get('blame').hidden = !source.blame;
  if (source.blame) blameTable(total, names);
  const { a, b } = windows, section = get('comparison');
  section.hidden = !(a && b);
  for (const id of ['a', 'b']) get('mark-' + id).setAttribute('aria-pressed', String(Boolean(windows[id])));
  get('unmark').hidden = !(a || b);
  if (!(a && b)) return;
  const parts = [a, b].map(stretch => inside(source.periods, stretch));
  const words = parts.map((periods, i) => `${'AB'[i]}: ${clock([a, b][i].from)}, ${lasting([a, b][i].to - [a, b][i].from)}, ${periods.length} period${periods.length === 1 ? '' : 's'}`);
  const complete = parts.every(periods => periods.length);
  get('comparison-note').textContent = words.join(' · ') + (complete ? '. In threads on average, and in time lost per second. Coloured is what differs by more than twice its standard error.' : '. One of them has no whole period in it.');
  get('changes').hidden = !complete;
  if (complete) changesTable(...parts, names);
}

function render() {
  const group = get('group');
  if (!source || !source.periods.length) {
    if (source) drawHead();
    get('window').textContent = source ? 'The first interval has not ended yet.' : '';
    return;
  }
  const { from, to } = view();
  drawHead();
  get('whole').disabled = !zoom;
  get('window').textContent = `${clock(from)} – ${clock(to)}, ${new Date(to).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })}, ${lasting(to - from)}`;
  group.hidden = chosen === null;
  group.textContent = chosen === null ? '' : `only ${chosen}`;
  if (chosen !== null) {
    const button = element('button', '✕', group);
    button.setAttribute('aria-label', 'Show all groups');
    button.onclick = () => choose(null);
  }
  get('share').setAttribute('aria-pressed', String(inShares));
  drawStates();
  drawCharts();
  drawTables();
}

function choose(name) {
  chosen = name === chosen ? null : name;
  render();
}

function zoomTo(stretch) {
  const all = everything(), least = Math.min(...source.periods.map(period => period.end - period.start));
  if (stretch) {
    const length = Math.max(stretch.to - stretch.from, least), from = Math.min(Math.max(stretch.from, all.from), all.to - length);
    stretch = length >= all.to - all.from ? null : { from, to: from + length };
  }
  zoom = stretch;
  selection = anchor = null;
  render();
}

let saidAt = 0;
function say(words) {
  saidAt = performance.now();
  if (get('error').textContent !== words) get('error').textContent = words;
  get('error').hidden = !words;
}

function mark(id, stretch) {
  windows[id] = { ...stretch };
  selection = anchor = null;
  render();
}

// Times of a pointer on the axis.
const axis = get('time');
const timeAt = event => {
  const box = axis.getBoundingClientRect(), share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  return view().from + share * (view().to - view().from);
};
axis.onpointerdown = event => {
  if (event.button || !source || !source.periods.length) return;
  axis.setPointerCapture(event.pointerId);
  anchor = timeAt(event);
  selection = null;
};
axis.onpointermove = event => {
  if (!source || !source.periods.length) return;
  cursor = timeAt(event);
  if (anchor !== null && event.buttons) selection = { from: Math.min(anchor, cursor), to: Math.max(anchor, cursor) };
  drawOverlay();
};
axis.onpointerup = () => {
  const enough = selection && (selection.to - selection.from) / (view().to - view().from) * axis.clientWidth > 4;
  if (enough) zoomTo(selection);
  selection = anchor = null;
  if (source && source.periods.length) drawOverlay();
};
axis.onpointercancel = axis.onpointerup;
axis.onpointerleave = () => {
  if (anchor === null && document.activeElement !== axis) cursor = null;
  if (source && source.periods.length) drawOverlay();
};
axis.ondblclick = () => zoomTo(null);

// The next period from the cursor, and with Shift what lies between is selected.
function move(step, selects) {
  const periods = touching(source.periods, view());
  if (!periods.length) return;
  const middle = period => (period.start + period.end) / 2;
  const at = cursor === null ? -1 : periods.findIndex(period => period.end > cursor);
  let next = cursor === null ? (step === -1 ? periods.length - 1 : step === 1 ? 0 : step) : (at < 0 ? periods.length - 1 : at) + step;
  next = Math.min(Math.max(next, 0), periods.length - 1);
  if (selects && anchor === null) anchor = cursor === null ? middle(periods[next]) : cursor;
  cursor = middle(periods[next]);
  if (!selects) anchor = null;
  const ends = anchor === null ? null : touching(source.periods, { from: Math.min(anchor, cursor), to: Math.max(anchor, cursor) + 1e-3 });
  selection = ends && ends.length ? { from: ends[0].start, to: ends[ends.length - 1].end } : null;
  drawOverlay();
}

function magnify(factor) {
  const { from, to } = view(), middle = cursor === null ? (from + to) / 2 : cursor, half = (to - from) * factor / 2;
  zoomTo({ from: middle - half, to: middle + half });
}

axis.onkeydown = event => {
  if (!source || !source.periods.length || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = { ArrowLeft: () => move(-1, event.shiftKey), ArrowRight: () => move(1, event.shiftKey), Home: () => move(-1e9, event.shiftKey), End: () => move(1e9, event.shiftKey),
    Enter: () => selection && zoomTo(selection), '+': () => magnify(0.5), '=': () => magnify(0.5), '-': () => magnify(2) };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
};

function showPaused(isPaused) {
  paused = isPaused;
  get('pause').setAttribute('aria-pressed', String(paused));
  get('pause').textContent = paused ? 'Continue' : 'Pause';
}

function pause() {
  showPaused(!paused);
  if (!paused) poll();
  render();
}

function escape() {
  const typing = document.activeElement === get('filter');
  if (typing) get('filter').blur();
  if (filtering) {
    get('filter').value = filtering = '';
    render();
  } else if (typing) return;
  else if (selection) {
    selection = anchor = null;
    drawOverlay();
  } else if (zoom) zoomTo(null);
  else if (chosen !== null) choose(null);
}

onkeydown = event => {
  const typing = ['INPUT', 'SELECT'].includes(event.target.tagName);
  if (!source || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape')) return;
  const here = source.periods.length ? selection || view() : null;
  const actions = { '/': () => get('filter').focus(), Escape: escape, a: () => here && mark('a', here), b: () => here && mark('b', here), x: () => get('unmark').click(),
    s: () => get('share').click(), ' ': () => !isFile && pause() };
  if (!actions[event.key] || (event.key === ' ' && ['BUTTON', 'A'].includes(event.target.tagName))) return;
  event.preventDefault();
  actions[event.key]();
};

// What is drawn again is made again: a button that is pressed would get no click, and what is selected would not be any
// more. So they hold it up, for as long as a person needs.
const HELD_MS = 10000;
let pressedAt = -Infinity, selectedAt = -Infinity;
const isHeld = () => performance.now() < (getSelection().isCollapsed ? pressedAt : Math.max(pressedAt, selectedAt)) + HELD_MS;
function holdWhilePressed() {
  const press = () => { pressedAt = performance.now(); }, release = () => { pressedAt = -Infinity; };
  addEventListener('pointerdown', press, true);
  addEventListener('keydown', event => event.key === ' ' && press(), true);
  for (const end of ['pointerup', 'pointercancel', 'keyup', 'blur']) addEventListener(end, release);
  document.addEventListener('selectionchange', () => { selectedAt = performance.now(); });
}

// Asks again and again; what goes wrong is shown, and tried again.
async function poll() {
  clearTimeout(timer);
  if (!server || paused || isFile) return;
  let pause_ms = 2000;
  try {
    const periods = await server.update(level, Number(get('span').value) * 60000);
    if (isFile || paused) return;
    if (!source) offerSteps(periods.status);
    source = periods;
    // what was said of a file stays for a while
    if (trouble || performance.now() - saidAt > 15000) say('');
    trouble = '';
    pause_ms = Math.max(1000, source.status.interval_ns / 1e6);
    if (zoom && zoom.from < (source.periods[0] || { start: 0 }).start) zoom = null;
  } catch (error) {
    if (isFile || paused) return;
    trouble = error.message;
    say(`${trouble}. Trying again every 2 s.`);
  }
  clearTimeout(timer);
  timer = setTimeout(poll, pause_ms);
  if (anchor === null && !isHeld()) render();
}

// Which of the server's lengths of periods: the shortest that go back so far.
function level(lengths) {
  if (get('step').value !== '') return Number(get('step').value);
  const span = Number(get('span').value) * 60e9, found = lengths.findIndex(length => length * 720 >= span);
  return found < 0 ? lengths.length - 1 : found;
}

function offerSteps(status) {
  status.period_lengths_ns.forEach((length, i) => { element('option', lasting(length / 1e6), get('step')).value = i; });
}

function restart() {
  server.forget();
  if (paused) showPaused(false);
  zoom = selection = cursor = anchor = null;
  poll();
}

let ownSource = null;
function show(next, fromFile) {
  source = next;
  isFile = fromFile;
  zoom = selection = cursor = anchor = chosen = null;
  windows = { a: null, b: null };
  render();
}

async function openFile(file) {
  try {
    const next = readText(file.name, await file.text());
    say('');
    clearTimeout(timer);
    show(next, true);
  } catch (error) {
    say(error instanceof Unreadable ? error.message : `${file.name} cannot be shown: ${error.message}`);
  }
}

function linkProfile() {
  const state = get('profile-state').value;
  get('profile-link').href = `/debug/pprof/profile?seconds=${get('profile-seconds').value}${state ? '&state=' + state : ''}&format=html`;
}

function controls() {
  for (const [minutes, words] of SPANS) element('option', words, get('span')).value = minutes;
  get('span').value = 10;
  element('option', 'auto', get('step')).value = '';
  get('span').onchange = get('step').onchange = restart;
  element('option', 'all', get('profile-state')).value = '';
  for (const state of STATES.filter(state => !['stolen', 'irq'].includes(state))) element('option', state, get('profile-state'));
  get('profile-state').onchange = get('profile-seconds').onchange = linkProfile;
  linkProfile();
  get('pause').onclick = pause;
  get('whole').onclick = () => source && zoomTo(null);
  for (const id of ['a', 'b']) get('mark-' + id).onclick = () => source && source.periods.length && mark(id, selection || view());
  get('unmark').onclick = () => { windows = { a: null, b: null }; render(); };
  get('share').onclick = () => { inShares = !inShares; render(); };
  get('filter').oninput = () => { filtering = get('filter').value.trim().toLowerCase(); render(); };
  get('open').onclick = () => get('file').click();
  get('file').onchange = () => { if (get('file').files[0]) openFile(get('file').files[0]); get('file').value = ''; };
  get('back').onclick = () => {
    say('');
    if (!server) { show(ownSource, true); return; }
    isFile = false;
    source = null;
    get('step').length = 1;
    zoom = chosen = null;
    windows = { a: null, b: null };
    restart();
  };
  get('keys').onclick = () => { get('help').hidden = !get('help').hidden; get('keys').setAttribute('aria-expanded', String(!get('help').hidden)); };
  get('theme').onclick = () => { document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'; readColours(); render(); };
  matchMedia('(prefers-color-scheme: dark)').onchange = () => { readColours(); render(); };
  document.ondragover = event => { event.preventDefault(); get('drop').hidden = false; };
  document.ondragleave = event => { if (!event.relatedTarget) get('drop').hidden = true; };
  document.ondrop = event => {
    event.preventDefault();
    get('drop').hidden = true;
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  };
  onresize = render;
}

get('page').hidden = false;
readColours();
controls();
holdWhilePressed();
if (own) {
  ownSource = readPage(own);
  show(ownSource, true);
} else poll();
