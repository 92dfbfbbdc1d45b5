// The time axis: areas of states, and waits for a CPU by their length.
const get = id => document.getElementById(id);
const element = (name, text, parent) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
const LEFT = 52, BOTTOM_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000];
let colours = {}; // by the theme

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const dark = isDark();
  for (const name of [...STATES, 'text', 'dim', 'line', 'back']) colours[name] = style.getPropertyValue('--' + name).trim();
  colours.heat = dark ? [[52, 38, 22], [201, 118, 45], [255, 226, 178]] : [[253, 236, 214], [238, 150, 66], [112, 42, 4]];
}

const isDark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;

function heatColour(share) {
  const at = Math.min(share, 1) * 2, i = Math.min(Math.floor(at), 1), part = at - i;
  return `rgb(${colours.heat[i].map((from, k) => Math.round(from + (colours.heat[i + 1][k] - from) * part)).join()})`;
}

// A canvas at the screen's own resolution, emptied.
function paper(id) {
  const canvas = get(id), dots = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  const pen = canvas.getContext('2d');
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.font = '11px system-ui, sans-serif';
  return { pen, width, height, dots };
}

// Where a time is; both charts and what lies over them agree on it.
const scale = (view, width) => time => LEFT + (time - view.from) / (view.to - view.from) * (width - LEFT);
const whole = (x, dots) => Math.round(x * dots) / dots;

// [left, right) of each period in whole dots, so that neighbours touch.
function columns(view, periods, width, dots) {
  const x = scale(view, width);
  return periods.map(period => {
    const left = Math.max(whole(x(period.start), dots), LEFT), right = Math.min(whole(x(period.end), dots), width);
    return [left, Math.max(right, left + 1 / dots)];
  });
}

function niceStep(most, lines) {
  const rough = most / lines, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= rough);
}

function drawAreas(view, periods, shown, inShares) {
  const { pen, width, height, dots } = paper('areas'), top = 8, visible = STATES.filter(state => shown.has(state));
  const values = periods.map(period => visible.map(state => (period.states[state] || 0) / period.ns));
  const sums = values.map(row => row.reduce((a, b) => a + b, 0));
  const most = inShares ? 1 : Math.max(...sums, 0) || 1, y = value => height - value / most * (height - top);
  pen.fillStyle = colours.dim;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const step = inShares ? 0.25 : niceStep(most, 4), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const lines = [];
  for (let value = 0; value <= most * 1.0001; value += step) {
    lines.push(y(value));
    pen.fillText(inShares ? Math.round(value * 100) + ' %' : value.toFixed(digits), LEFT - 6, Math.min(Math.max(y(value), 7), height - 6));
  }
  columns(view, periods, width, dots).forEach(([left, right], i) => {
    const all = inShares ? sums[i] || 1 : 1;
    let below = 0;
    if (periods[i].unlisted) {
      pen.globalAlpha = 0.12;
      pen.fillStyle = colours.dim;
      pen.fillRect(left, top, right - left, height - top);
      pen.globalAlpha = 1;
    }
    visible.forEach((state, k) => {
      if (!values[i][k]) return;
      const above = below + values[i][k] / all, from = whole(y(above), dots);
      pen.fillStyle = colours[state];
      pen.fillRect(left, from, right - left, whole(y(below), dots) - from);
      below = above;
    });
  });
  pen.globalAlpha = 0.55;
  pen.fillStyle = colours.line;
  for (const line of lines) pen.fillRect(LEFT, whole(Math.min(line, height - 1), dots), width - LEFT, 1 / dots);
  pen.globalAlpha = 1;
}

function drawHeat(view, periods) {
  const { pen, width, height, dots } = paper('heat');
  let low = Infinity, high = -1, most = 0;
  for (const period of periods)
    (period.waits || []).forEach((number, i) => {
      if (!number) return;
      low = Math.min(low, i);
      high = Math.max(high, i);
      most = Math.max(most, number / period.ns);
    });
  if (high < 0) return false;
  low = Math.min(Math.max(low, 9), 10); // shorter ones share the lowest row
  high = Math.max(high, low + 10) + 1;
  const y = bucket => height - 4 - (bucket - low) / (high - low) * (height - 8);
  // one wait in the longest period is the faintest
  const least = Math.min(...periods.map(period => 1 / period.ns)), range = Math.log(most / least) || 1;
  columns(view, periods, width, dots).forEach(([left, right], i) => {
    (periods[i].waits || []).forEach((number, bucket) => {
      if (!number) return;
      const row = Math.max(bucket, low), from = whole(y(row + 1), dots);
      pen.fillStyle = heatColour(0.08 + 0.92 * Math.log(number / periods[i].ns / least) / range);
      pen.fillRect(left, from, right - left, whole(y(row), dots) - from);
    });
  });
  pen.fillStyle = colours.dim;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (const [bucket, words] of [[10, '1 µs'], [13.29, '10 µs'], [16.61, '100 µs'], [19.93, '1 ms'], [23.25, '10 ms'], [26.58, '100 ms'], [29.9, '1 s'], [33.22, '10 s']])
    if (bucket >= low && bucket <= high) pen.fillText(words, LEFT - 6, Math.min(Math.max(y(bucket), 7), height - 7));
  return true;
}

function drawAxis(view) {
  const { pen, width, height, dots } = paper('axis'), x = scale(view, width), seconds = (view.to - view.from) / 1000;
  const step = BOTTOM_STEPS.find(step => seconds / step <= (width - LEFT) / 90) || 864000;
  const zone = -new Date(view.from).getTimezoneOffset() * 60;
  pen.fillStyle = colours.dim;
  pen.textBaseline = 'bottom';
  for (let at = Math.ceil((view.from / 1000 + zone) / step) * step; at <= view.to / 1000 + zone; at += step) {
    const time = (at - zone) * 1000, digits = step < 1 ? (step < 0.1 ? 2 : 1) : 0;
    const words = step >= 86400 ? new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
      : clock(time, step >= 60 ? { second: undefined } : digits ? { fractionalSecondDigits: digits } : {});
    const half = pen.measureText(words).width / 2;
    pen.textAlign = 'center';
    pen.fillRect(whole(x(time), dots), 0, 1 / dots, 4);
    if (x(time) - half > LEFT - 20) pen.fillText(words, Math.min(x(time), width - half - 1), height - 2);
  }
}

// A stretch of time over the charts; NULL hides it.
function place(id, view, stretch) {
  const made = get(id), from = stretch && Math.max(stretch.from, view.from), to = stretch && Math.min(stretch.to, view.to);
  made.hidden = !stretch || from > to;
  if (made.hidden) return;
  made.style.left = 100 * (from - view.from) / (view.to - view.from) + '%';
  if (id !== 'cursor') made.style.width = 100 * (to - from) / (view.to - view.from) + '%';
}
