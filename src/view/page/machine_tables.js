// Tables that are sorted by their headings, and the comparison of two windows.
const ROWS = 20;
const unfolded = new Set(); // ids of tables of which all rows are shown
const sorting = { groups: ['active', -1], blame: ['ns', -1], changes: ['size', -1] };

function swatch(state) {
  const made = element('span');
  made.className = 'swatch';
  made.style.background = `var(--${state})`;
  return made;
}

// `columns`: {key, words, text, wide, value(row), cell(row, td)}; one without `value` is not sorted by. Where there is
// little room, the `wide` ones come last, for those who scroll.
function table(id, columns, rows, mark) {
  const list = matchMedia('(max-width: 700px)').matches ? [...columns.filter(one => !one.wide), ...columns.filter(one => one.wide)] : columns;
  const [by, direction] = sorting[id], column = list.find(one => one.key === by) || list.find(one => one.value);
  const focused = document.activeElement && document.activeElement.dataset && document.activeElement.closest(`#${id}`) ? document.activeElement.dataset.key : null;
  const head = get(id).tHead, body = get(id).tBodies[0];
  head.textContent = body.textContent = '';
  const line = element('tr', undefined, head);
  for (const one of list) {
    const cell = element('th', undefined, line);
    cell.scope = 'col';
    cell.className = one.text ? 'text' : '';
    if (!one.words) continue;
    const button = element('button', one.words, cell);
    button.title = one.help || '';
    button.dataset.key = 'column ' + one.key;
    if (one === column) cell.setAttribute('aria-sort', direction < 0 ? 'descending' : 'ascending');
    button.onclick = () => {
      sorting[id] = [one.key, one.key === by ? -direction : one.text ? 1 : -1];
      render();
    };
  }
  const order = (a, b) => {
    const [left, right] = [column.value(a), column.value(b)];
    return direction * (typeof left === 'string' ? left.localeCompare(right) : (left === null ? -1 : left) - (right === null ? -1 : right));
  };
  for (const row of [...rows].sort(order).slice(0, unfolded.has(id) ? rows.length : ROWS)) {
    const made = element('tr', undefined, body);
    if (mark && mark(row)) made.className = 'chosen';
    for (const one of list) {
      const cell = element('td', undefined, made);
      cell.className = one.text ? 'text' : '';
      one.cell(row, cell);
    }
  }
  if (!rows.length) {
    const cell = element('td', 'nothing in this time', element('tr', undefined, body));
    cell.colSpan = list.length;
    cell.className = 'text dim';
  }
  if (rows.length > ROWS) {
    const cell = element('td', undefined, element('tr', undefined, body)), button = element('button', unfolded.has(id) ? `First ${ROWS}` : `All ${rows.length}`, cell);
    cell.colSpan = list.length;
    cell.className = 'text';
    button.dataset.key = 'all';
    button.onclick = () => {
      if (!unfolded.delete(id)) unfolded.add(id);
      render();
    };
  }
  if (focused) for (const button of get(id).querySelectorAll('button')) if (button.dataset.key === focused) button.focus({ preventScroll: true });
}

// A group's name, to be chosen.
function nameCell(name, cell, key) {
  if (name === OTHERS) {
    cell.append(nameOf(name));
    cell.classList.add('dim');
    return;
  }
  const button = element('button', name, cell);
  button.className = 'name';
  button.title = name;
  button.dataset.key = key;
  button.onclick = () => choose(name);
}

function stateCell(state, cell) {
  if (!state) {
    cell.append('-');
    return;
  }
  cell.append(swatch(state), state);
  cell.title = WORDS[state] || '';
}

// Of a group that was at times one of all others: it is no less, and may be so much more.
const atLeast = (value, more, write) => (write(value + more) === write(value) ? '' : '≥ ') + write(value);

function groupsTable(total, shown, matches) {
  const visible = STATES.filter(state => shown.has(state) && total.states[state]), threads = (row, state) => (row.states[state] || 0) / total.ns;
  const rows = [...total.groups.values()].filter(row => matches(nameOf(row.name)));
  const longest = Math.max(...rows.map(row => visible.reduce((sum, state) => sum + threads(row, state), 0)), 0);
  const bar = (row, cell) => {
    const made = element('div', undefined, cell);
    made.className = 'stack';
    for (const state of visible) {
      if (!row.states[state]) continue;
      const part = element('span', undefined, made);
      part.style.background = `var(--${state})`;
      part.style.width = 100 * threads(row, state) / longest + '%';
      part.title = `${state} ${count(threads(row, state))}`;
    }
  };
  const shownOf = row => visible.reduce((sum, state) => sum + threads(row, state), 0);
  table('groups', [
    { key: 'name', words: source.status.by === 'cgroup' ? 'Cgroup' : source.status.by === 'process' ? 'Process' : 'Group', text: true, value: row => nameOf(row.name), cell: (row, cell) => nameCell(row.name, cell, 'group ' + row.name) },
    { key: 'shown', words: 'States', text: true, help: 'of the states that are shown', value: shownOf, cell: bar },
    { key: 'active', words: 'Active', help: 'threads that were on a CPU, or lost time, on average', value: row => activeOf(row.states), cell: (row, cell) => cell.append(atLeast(activeOf(row.states) / total.ns, activeOf(row.more) / total.ns, count)) },
    { key: 'threads', words: 'Threads', wide: true, help: 'at the end', value: row => row.threads, cell: (row, cell) => cell.append(row.threads) },
    { key: 'p99', words: 'Wait p99', wide: true, help: '99 of 100 waits for a CPU were shorter; - not measured, or none ended', value: row => p99(row.waits),
      cell: (row, cell) => cell.append(p99(row.waits) ? '< ' + duration(p99(row.waits)) : '-') },
    ...visible.map(state => ({ key: state, words: state, wide: true, help: `threads on average: ${WORDS[state]}`, value: row => row.states[state] || 0,
      cell: (row, cell) => { cell.append(atLeast(threads(row, state), (row.more[state] || 0) / total.ns, count)); if (!row.states[state]) cell.classList.add('dim'); } })),
  ], rows, row => row.name === chosen);
}

function blameTable(total, matches) {
  const rows = [...total.blame.values()].filter(row => chosen ? row.victim === chosen || row.culprit === chosen : matches(nameOf(row.victim)) || matches(culpritOf(row)));
  const all = rows.reduce((sum, row) => sum + row.ns, 0), longest = Math.max(...rows.map(row => row.ns), 0);
  // of a culprit whose group is not known there is nothing to show
  const isGroup = name => total.groups.has(name) || (total.groups.has(OTHERS) && name !== UNKNOWN);
  table('blame', [
    { key: 'victim', words: 'Who waited', text: true, value: row => nameOf(row.victim), cell: (row, cell) => nameCell(row.victim, cell, 'victim ' + row.key) },
    { key: 'state', words: 'State', text: true, value: row => row.state || '', cell: (row, cell) => stateCell(row.state, cell) },
    { key: 'culprit', words: 'Because of', text: true, value: culpritOf, cell: (row, cell) => row.kind === 'thread' && isGroup(row.culprit) ? nameCell(row.culprit, cell, 'culprit ' + row.key) : (cell.append(culpritOf(row)), cell.classList.add('dim')) },
    { key: 'ns', words: 'Lost/s', help: 'time lost per second', value: row => row.ns, cell: (row, cell) => cell.append(duration(row.ns / total.ns * 1e9)) },
    { key: 'share', words: '%', wide: true, value: row => row.ns, cell: (row, cell) => cell.append(all ? percent(row.ns / all) : '-') },
    { key: 'size', words: '', wide: true, text: true, value: row => row.ns, cell: (row, cell) => {
      const part = element('span', undefined, element('div', undefined, cell));
      part.parentNode.className = 'stack';
      part.style.width = (longest ? 100 * row.ns / longest : 0) + '%';
      part.style.background = row.state ? `var(--${row.state})` : 'var(--dim)';
    } },
  ], rows, row => chosen && row.victim === chosen);
}

const unstacked = new Set(); // keys of stalls whose stacks are shown

function stackOf(stall, body) {
  const cell = element('td', undefined, element('tr', undefined, body)), list = element('ol', undefined, cell);
  cell.colSpan = 5;
  cell.className = 'frames text';
  for (const frame of stall.stack) {
    const line = element('li', frame.function || frame.module || 'unknown', list);
    if (frame.file) element('span', ` ${frame.file}${frame.line ? ':' + frame.line : ''}`, line).className = 'dim';
  }
}

function stallRow(name, stall, body) {
  const row = element('tr', undefined, body), key = `${name} ${stall.key}`, shown = unstacked.has(key);
  const state = { cpu: 'user' }[stall.cause] || stall.cause, what = stall.place || stall.task || 'not known';
  element('td', stall.ago === null ? 'now' : lasting(Math.max(stall.ago, 0)) + ' ago', row).className = stall.ago === null ? 'text more' : 'text';
  element('td', duration(stall.ns), row);
  const cause = element('td', undefined, row);
  cause.className = 'text';
  if (STATES.includes(state)) cause.append(swatch(state));
  cause.append(stall.cause || '-');
  const place = element('td', undefined, row);
  place.className = 'text';
  if (stall.stack.length) {
    const button = element('button', what, place);
    button.className = 'name';
    button.title = shown ? 'Hide the stack' : 'Show the stack';
    button.dataset.key = 'stall ' + key;
    button.setAttribute('aria-expanded', String(shown));
    button.onclick = () => {
      if (!unstacked.delete(key)) unstacked.add(key);
      render();
    };
  } else place.append(what);
  const reason = element('td', stall.reason || '', row);
  reason.className = 'text dim';
  if (shown) stackOf(stall, body);
}

function stallsTables(programs) {
  const section = get('stalls'), focused = document.activeElement && section.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  section.textContent = '';
  section.hidden = !programs.length;
  for (const program of programs) {
    const words = !program.watched ? 'not running, or not watched' : program.stuck ? `${program.stuck} worker${program.stuck === 1 ? '' : 's'} stuck now` : 'no worker is stuck';
    const title = element('h2', `What held up workers of ${program.name}: `, section);
    element('span', words, title).className = program.stuck ? 'more' : 'dim';
    if (!program.rows.length) {
      element('p', 'No stall so far.', section);
      continue;
    }
    const made = element('table', undefined, element('div', undefined, section)), line = element('tr', undefined, element('thead', undefined, made)), body = element('tbody', undefined, made);
    made.parentNode.className = 'scroll';
    for (const [words, kind] of [['When', 'text'], ['Length', ''], ['Cause', 'text'], ['Function', 'text'], ['Reason', 'text']]) {
      const cell = element('th', words, line);
      cell.scope = 'col';
      cell.className = kind;
    }
    for (const stall of program.rows) stallRow(program.name, stall, body);
  }
  if (focused) for (const button of section.querySelectorAll('button')) if (button.dataset.key === focused) button.focus({ preventScroll: true });
}

// The mean of what each period has, and its standard error; null with fewer than three periods. `more` is what may come to it.
function mean(periods, of, more) {
  const ns = periods.reduce((sum, period) => sum + period.ns, 0), rates = periods.map(period => of(period) / period.ns);
  const average = periods.reduce((sum, period, i) => sum + rates[i] * period.ns, 0) / ns, n = rates.length;
  const variance = n < 3 ? null : rates.reduce((sum, rate) => sum + (rate - average) ** 2, 0) / (n - 1) / n;
  return { average, variance, most: average + periods.reduce((sum, period) => sum + more(period), 0) / ns };
}

// Certain is what is so whatever part of all others' it had.
function difference(row, before, after, of, more) {
  row.a = mean(before, of, more);
  row.b = mean(after, of, more);
  row.delta = row.b.average - row.a.average;
  row.known = row.a.variance !== null && row.b.variance !== null;
  const error = row.known ? 2 * Math.sqrt(row.a.variance + row.b.variance) : Infinity;
  row.chance = Math.abs(row.delta) <= error;
  row.certain = row.delta > 0 ? row.b.average - row.a.most > error : row.a.average - row.b.most > error;
  return row;
}

// Differences of what groups did, in threads, and of what they lost by others, per second.
function compare(before, after, matches) {
  const total = sum([...before, ...after]), rows = [];
  for (const group of total.groups.values())
    for (const state of Object.keys(group.states).filter(state => ACTIVE.includes(state) || LOST.includes(state)))
      if (matches(nameOf(group.name)))
        rows.push(difference({ who: group.name, state, because: '' }, before, after, period => (period.groups.get(group.name) || { states: {} }).states[state] || 0,
          period => mostOf(period, group.name)[state] || 0));
  const lossOf = key => period => period.blame.reduce((sum, loss) => sum + (loss.key === key ? loss.ns : 0), 0);
  // what such a victim, or such a culprit, lost in a period that does not list it
  // the rest of all pairs has no state; that of a victim's culprits has
  const isOfOthers = (loss, one) => one.victim === OTHERS ? !one.state || one.state === loss.state
    : one.victim === loss.victim && one.state === loss.state && (one.kind === 'others' || one.culprit === OTHERS);
  const moreLossOf = loss => period => lossOf(loss.key)(period) || loss.victim === OTHERS ? 0
    : period.blame.reduce((sum, one) => sum + (isOfOthers(loss, one) ? one.ns : 0), 0);
  for (const loss of total.blame.values())
    if (matches(nameOf(loss.victim)) || matches(culpritOf(loss)))
      rows.push(difference({ who: loss.victim, state: loss.state, because: culpritOf(loss), isLoss: true }, before, after, lossOf(loss.key), moreLossOf(loss)));
  return rows.filter(row => Math.abs(row.delta) >= 0.0005);
}

function changesTable(before, after, matches) {
  const rows = compare(before, after, matches), perSecond = rate => duration(rate * 1e9) + '/s';
  const amount = (row, rate) => row.isLoss ? perSecond(rate) : count(rate);
  const range = (row, side) => atLeast(side.average, side.most - side.average, rate => amount(row, rate));
  const words = row => !row.isLoss && Math.abs(row.delta) < 0.005 ? '±0.00' : (row.delta > 0 ? '+' : '−') + amount(row, Math.abs(row.delta));
  table('changes', [
    { key: 'who', words: 'Group', text: true, value: row => nameOf(row.who), cell: (row, cell) => nameCell(row.who, cell, 'change ' + row.who + row.state + row.because) },
    { key: 'state', words: 'State', text: true, value: row => row.state || '', cell: (row, cell) => stateCell(row.state, cell) },
    { key: 'because', words: 'Because of', text: true, value: row => row.because, cell: (row, cell) => cell.append(row.because) },
    { key: 'a', words: 'A', value: row => row.a.average, cell: (row, cell) => cell.append(range(row, row.a)) },
    { key: 'b', words: 'B', value: row => row.b.average, cell: (row, cell) => cell.append(range(row, row.b)) },
    { key: 'size', words: 'Change', help: 'coloured where it is more than twice its standard error', value: row => Math.abs(row.delta) + (row.certain ? 1e6 : 0),
      cell: (row, cell) => { cell.append(words(row)); cell.classList.add(row.certain ? row.delta > 0 ? 'more' : 'less' : 'dim'); } },
    { key: 'verdict', words: 'Verdict', text: true, wide: true, value: row => row.certain ? 1 : 0, cell: (row, cell) => cell.append(row.certain ? row.delta > 0 ? '▲ more' : '▼ less' : row.known ? row.chance ? 'may be chance' : 'partly in all others' : 'too few periods') },
  ], rows);
}
