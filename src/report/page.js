// The timeline: an overview of the whole trace, and below it a window. The wheel, two fingers or
// the buttons zoom the window; dragging moves it. A line of text tells what is under the pointer.
const RUN = 0, WAIT = 1, HOLD = 2, JOB = 3;
const STYLES = [ 'runs', 'waits', 'holds the engine', 'job' ];
function timeline(box) {
  const data = JSON.parse(box.querySelector('script').textContent);
  const canvas = box.querySelector('.rows'), overview = box.querySelector('.overview'),
        tip = box.querySelector('.tip');
  const hint = tip.textContent, axis = 22;
  let low = Infinity, high = -Infinity;
  for (const s of data.spans) {
    low = Math.min(low, s[1]);
    high = Math.max(high, s[2]);
  }
  for (const e of data.events) {
    low = Math.min(low, e[1]);
    high = Math.max(high, e[1]);
  }
  if (!(high > low)) {
    low = 0;
    high = 1;
  }
  let from = data.focus[0], to = data.focus[1], left = 90, pitch = 28, top = 0;
  if (!(to > from)) {
    from = low;
    to = high;
  }
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name);
  const right = () => canvas.clientWidth - 6;
  const at = t => left + (t - from) / (to - from) * (right() - left);
  const colour = s => data.programs[s[3]][1];
  const ms = v => +v.toFixed(v < 10 ? 3 : v < 1000 ? 2 : 0) + ' ms';
  const many = n => n.toLocaleString('en');

  function prepare(target, height) {
    const ratio = window.devicePixelRatio || 1, width = target.clientWidth, context = target.getContext('2d');
    target.width = Math.round(width * ratio);
    target.height = Math.round(height * ratio);
    target.style.height = height + 'px';
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    return context;
  }
  const patterns = new Map();
  function hatch(context, shade) {
    if (!patterns.has(shade)) {
      const tile = document.createElement('canvas'), pen = tile.getContext('2d');
      tile.width = tile.height = 6;
      pen.strokeStyle = shade;
      pen.lineWidth = 1.6;
      for (const d of [-6, 0, 6]) {
        pen.beginPath();
        pen.moveTo(d, 6);
        pen.lineTo(d + 6, 0);
        pen.stroke();
      }
      patterns.set(shade, context.createPattern(tile, 'repeat'));
    }
    return patterns.get(shade);
  }
  const step = () => {
    const raw = (to - from) / Math.max(2, Math.min(8, (right() - left) / 80)),
          p = 10 ** Math.floor(Math.log10(raw)), k = raw / p;
    return p * (k <= 1 ? 1 : k <= 2 ? 2 : k <= 5 ? 5 : 10);
  };
  function drawAxis(context, height) {
    const d = step(), digits = Math.max(0, -Math.floor(Math.log10(d) + 1e-9));
    for (let t = Math.ceil(from / d) * d; t <= to; t += d) {
      context.strokeStyle = ink('--line');
      context.beginPath();
      context.moveTo(at(t), 0);
      context.lineTo(at(t), height - axis);
      context.stroke();
      context.fillStyle = ink('--soft');
      context.textAlign = 'center';
      context.fillText(t.toFixed(digits) + ' ms', Math.max(left + 26, Math.min(at(t), right() - 26)),
                       height - axis / 2);
    }
  }
  function drawSpan(context, s, y) {
    const x = Math.max(at(s[1]), left - 2), end = Math.min(at(s[2]), right() + 2), w = Math.max(end - x, 0.8);
    context.fillStyle = context.strokeStyle = colour(s);
    if (s[4] === HOLD) {
      context.globalAlpha = 0.55;
      context.fillRect(x, y + 7, w, 4);
    } else if (s[4] === WAIT) {
      context.fillStyle = hatch(context, colour(s));
      context.fillRect(x, y + 1, w, 16);
      if (w > 3) {
        context.globalAlpha = 0.6;
        context.strokeRect(x + 0.5, y + 1.5, w - 1, 15);
      }
    } else if (s[4] === JOB) {
      context.globalAlpha = 0.2;
      context.fillRect(x, y + 2, w, 14);
      context.globalAlpha = 1;
      if (w > 3) {
        context.lineWidth = 1.3;
        context.strokeRect(x + 0.6, y + 2.6, w - 1.2, 12.8);
        context.lineWidth = 1;
      }
    } else context.fillRect(x, y, w, 18);
    context.globalAlpha = 1;
    if (s[4] !== RUN && s[4] !== JOB) return;
    const label = s[4] === JOB ? ms(s[2] - s[1]) : data.labels[s[5]];
    if (w > 24 && context.measureText(label).width + 8 < w) {
      context.fillStyle = s[4] === RUN ? '#fff' : ink('--ink');
      context.textAlign = 'center';
      context.fillText(label, x + w / 2, y + 9.5);
    }
  }
  function drawEvent(context, e, y) {
    const x = at(e[1]);
    context.strokeStyle = e[2] ? ink('--bad') : ink('--soft');
    context.lineWidth = e[2] ? 2.6 : 1.4;
    context.beginPath();
    if (e[2]) {
      context.moveTo(x - 5, y + 4);
      context.lineTo(x + 5, y + 14);
      context.moveTo(x + 5, y + 4);
      context.lineTo(x - 5, y + 14);
    } else {
      context.moveTo(x, y - 2);
      context.lineTo(x, y + 20);
    }
    context.stroke();
    context.lineWidth = 1;
  }
  function drawOverview() {
    const context = prepare(overview, 40), width = overview.clientWidth,
          to_x = t => (t - low) / (high - low) * width;
    for (const s of data.spans) {
      if (!data.rows[s[0]][1]) continue;
      context.fillStyle = colour(s);
      context.fillRect(to_x(s[1]), 8, Math.max(to_x(s[2]) - to_x(s[1]), 0.4), 24);
    }
    context.fillStyle = ink('--bad');
    for (const e of data.events) {
      if (!e[2]) continue;
      const x = to_x(e[1]);
      context.beginPath();
      context.moveTo(x - 4, 0);
      context.lineTo(x + 4, 0);
      context.lineTo(x, 7);
      context.fill();
    }
    context.fillStyle = ink('--bg');
    context.globalAlpha = 0.55;
    context.fillRect(0, 0, to_x(from), 40);
    context.fillRect(to_x(to), 0, width, 40);
    context.globalAlpha = 1;
    context.strokeStyle = ink('--ink');
    context.lineWidth = 1.5;
    context.strokeRect(Math.max(to_x(from), 0.75), 0.75,
                       Math.max(Math.min(to_x(to), width - 1.5) - Math.max(to_x(from), 0.75), 2), 38.5);
  }
  function draw() {
    const narrow = canvas.clientWidth < 560; // a phone: names stand above their rows
    pitch = narrow ? 38 : 28;
    top = narrow ? 16 : 5;
    const height = data.rows.length * pitch + axis + 6, context = prepare(canvas, height);
    left = narrow ? 2
                  : Math.min(canvas.clientWidth * 0.3,
                             16 + Math.max(40, ...data.rows.map(r => context.measureText(r[0]).width)));
    drawAxis(context, height);
    context.save();
    context.beginPath();
    context.rect(left, 0, right() - left + 2, height);
    context.clip();
    for (const style of [HOLD, WAIT, JOB, RUN])
      for (const s of data.spans)
        if (s[4] === style && s[2] >= from && s[1] <= to) drawSpan(context, s, s[0] * pitch + top);
    for (const bad of [0, 1])
      for (const e of data.events)
        if (e[2] === bad && e[1] >= from && e[1] <= to) drawEvent(context, e, e[0] * pitch + top);
    context.restore();
    context.fillStyle = ink('--soft');
    context.textAlign = narrow ? 'left' : 'right';
    data.rows.forEach((r, i) => narrow ? context.fillText(r[0], 2, i * pitch + 8)
                                       : context.fillText(r[0], left - 8, i * pitch + top + 9.5, left - 10));
    drawOverview();
  }
  function show(a, b) { // keeps the window within the trace and within sensible lengths
    const span = Math.min(Math.max(b - a, 1e-5), high - low);
    from = Math.min(Math.max(a, low), high - span);
    to = from + span;
    draw();
  }
  function zoom(factor, x) {
    const middle = from + (x - left) / (right() - left) * (to - from), share = (middle - from) / (to - from),
          span = (to - from) * factor;
    show(middle - share * span, middle + (1 - share) * span);
  }
  function tell(e) {
    const t = from + (e.offsetX - left) / (right() - left) * (to - from), row = Math.floor(e.offsetY / pitch),
          slack = (to - from) / (right() - left) * 2;
    const near = data.events.find(v => v[0] === row && Math.abs(at(v[1]) - e.offsetX) < 6);
    const under = data.spans.filter(v => v[0] === row && v[1] - slack <= t && t <= v[2] + slack);
    const s = under.find(v => v[4] === RUN) || under.find(v => v[4] === WAIT) || under[0];
    if (near) {
      tip.textContent = near[3] + ', at ' + ms(near[1]);
      return;
    }
    if (!s) {
      tip.textContent = hint;
      return;
    }
    const name = data.programs[s[3]][0], label = data.labels[s[5]];
    tip.textContent = name + (s[4] === RUN && label !== name ? ': ' + label : '') + ' ' + STYLES[s[4]] + ' ' +
                      ms(s[2] - s[1]) + ', from ' + ms(s[1]) +
                      (s[6] > 1 ? ', ' + many(s[6]) + ' pieces' : '') +
                      (s[7] ? ', ' + many(s[7]) + (s[8] ? ' bytes' : ' work-items') : '');
  }
  for (const b of box.querySelectorAll('button'))
    b.onclick = () => {
      const factor = +b.dataset.zoom;
      if (factor === 0) show(low, high);
      else if (factor < 0) show(data.focus[0], data.focus[1]);
      else zoom(factor, (left + right()) / 2);
    };
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.25 : 0.8, e.offsetX);
  }, {passive : false});
  const held = new Map();
  let apart = 0;
  canvas.addEventListener('pointerdown', e => {
    held.set(e.pointerId, e.clientX);
    canvas.setPointerCapture(e.pointerId);
    apart = 0;
    tell(e);
  });
  for (const end of ['pointerup', 'pointercancel'])
    canvas.addEventListener(end, e => {
      held.delete(e.pointerId);
      apart = 0;
    });
  canvas.addEventListener('pointermove', e => {
    if (held.size === 2) {
      held.set(e.pointerId, e.clientX);
      const [a, b] = [...held.values() ], now = Math.abs(a - b);
      if (apart > 0 && now > 0) zoom(apart / now, (a + b) / 2 - canvas.getBoundingClientRect().left);
      apart = now;
    } else if (held.size === 1) {
      const moved = (e.clientX - held.get(e.pointerId)) * (to - from) / (right() - left);
      held.set(e.pointerId, e.clientX);
      show(from - moved, to - moved);
    } else tell(e);
  });
  const jump = e => {
    const t = low + e.offsetX / overview.clientWidth * (high - low), half = (to - from) / 2;
    show(t - half, t + half);
  };
  overview.addEventListener('pointerdown', e => {
    overview.setPointerCapture(e.pointerId);
    jump(e);
  });
  overview.addEventListener('pointermove', e => {
    if (e.buttons) jump(e);
  });
  new ResizeObserver(draw).observe(box);
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', () => {
    patterns.clear();
    draw();
  });
  draw();
}
for (const box of document.querySelectorAll('.timeline')) timeline(box);
