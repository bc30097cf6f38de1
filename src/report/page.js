// The timeline: zoom with the wheel, two fingers or the buttons; drag to move; a tip tells what is under the pointer.
for (const box of document.querySelectorAll('.timeline')) {
  const data = JSON.parse(box.querySelector('script').textContent);
  const canvas = box.querySelector('canvas'), tip = box.querySelector('.tip'), context = canvas.getContext('2d');
  const pitch = 26, bar = 18, axis = 22;
  let low = Infinity, high = -Infinity;
  for (const s of data.spans) { low = Math.min(low, s[1]); high = Math.max(high, s[2]); }
  for (const e of data.events) { low = Math.min(low, e[1]); high = Math.max(high, e[1]); }
  if (!(high > low)) { low = 0; high = 1; }
  const whole = [low, high]; let from = low, to = high, left = 90;
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name);
  const at = t => left + (t - from) / (to - from) * (canvas.clientWidth - left - 8);
  const step = () => { const raw = (to - from) / Math.max(2, Math.min(8, (canvas.clientWidth - left) / 80)), p = 10 ** Math.floor(Math.log10(raw)), k = raw / p;
    return p * (k <= 1 ? 1 : k <= 2 ? 2 : k <= 5 ? 5 : 10); };
  function draw() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = data.rows.length * pitch + axis + 8;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + 'px';
    context.setTransform(ratio, 0, 0, ratio, 0, 0); context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, sans-serif'; context.textBaseline = 'middle';
    left = Math.min(width * 0.35, 16 + Math.max(40, ...data.rows.map(r => context.measureText(r).width)));
    const d = step();
    for (let t = Math.ceil(from / d) * d; t <= to; t += d) {
      context.strokeStyle = ink('--line'); context.beginPath(); context.moveTo(at(t), 0); context.lineTo(at(t), height - axis);
      context.stroke(); context.fillStyle = ink('--soft'); context.textAlign = 'center';
      context.fillText(+t.toPrecision(10) + ' ms', Math.min(at(t), width - 34), height - axis / 2);
    }
    context.save(); context.beginPath(); context.rect(left, 0, width - left - 4, height); context.clip();
    for (const s of data.spans) {
      if (s[2] < from || s[1] > to) continue;
      const x = Math.max(at(s[1]), left - 2), w = Math.max(Math.min(at(s[2]), width) - x, 0.7), y = s[0] * pitch + 4;
      context.globalAlpha = s[4] ? 0.3 : 1; context.fillStyle = data.colours[s[3]]; context.fillRect(x, y, w, bar);
      context.globalAlpha = 1;
      if (w > 40 && context.measureText(s[5]).width + 8 < w) {
        context.fillStyle = s[4] ? ink('--ink') : '#fff'; context.textAlign = 'center'; context.fillText(s[5], x + w / 2, y + bar / 2);
      }
    }
    for (const e of data.events) {
      if (e[1] < from || e[1] > to) continue;
      const x = at(e[1]), y = e[0] * pitch + 4; context.strokeStyle = e[2] ? ink('--bad') : ink('--soft'); context.lineWidth = e[2] ? 2.5 : 1;
      context.beginPath();
      if (e[2]) { context.moveTo(x - 5, y + 4); context.lineTo(x + 5, y + 14); context.moveTo(x + 5, y + 4); context.lineTo(x - 5, y + 14); }
      else { context.moveTo(x, y - 3); context.lineTo(x, y + bar); }
      context.stroke(); context.lineWidth = 1;
    }
    context.restore(); context.textAlign = 'right'; context.fillStyle = ink('--soft');
    data.rows.forEach((r, i) => context.fillText(r, left - 8, i * pitch + 4 + bar / 2, left - 10));
  }
  function zoom(factor, x) {
    if (factor === 0) { [from, to] = whole; draw(); return; }
    const middle = from + (x - left) / (canvas.clientWidth - left - 8) * (to - from);
    const span = Math.min(Math.max((to - from) * factor, 1e-5), (whole[1] - whole[0]) * 1.1);
    const share = (middle - from) / (to - from); from = middle - share * span; to = from + span; draw();
  }
  const inner = () => left + (canvas.clientWidth - left) / 2;
  for (const b of box.querySelectorAll('button')) b.onclick = () => zoom(+b.dataset.zoom, inner());
  canvas.addEventListener('wheel', e => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, e.offsetX); }, {passive: false});
  const held = new Map(); let apart = 0;
  canvas.addEventListener('pointerdown', e => { held.set(e.pointerId, e.clientX); canvas.setPointerCapture(e.pointerId); apart = 0; });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, e => { held.delete(e.pointerId); apart = 0; });
  canvas.addEventListener('pointermove', e => {
    if (held.size === 2) {
      held.set(e.pointerId, e.clientX); const [a, b] = [...held.values()], now = Math.abs(a - b);
      if (apart > 0 && now > 0) zoom(apart / now, (a + b) / 2 - canvas.getBoundingClientRect().left); apart = now; return;
    }
    if (held.size === 1) {
      const moved = (e.clientX - held.get(e.pointerId)) * (to - from) / (canvas.clientWidth - left - 8);
      held.set(e.pointerId, e.clientX); from -= moved; to -= moved; draw(); return;
    }
    const t = from + (e.offsetX - left) / (canvas.clientWidth - left - 8) * (to - from), row = Math.floor(e.offsetY / pitch);
    const near = data.events.find(v => v[0] === row && Math.abs(at(v[1]) - e.offsetX) < 6);
    const s = data.spans.find(v => v[0] === row && v[1] <= t && t <= v[2]);
    tip.textContent = near ? near[3] + ' at ' + near[1].toFixed(3) + ' ms'
      : s ? s[5] + (s[4] ? ' waits ' : ' runs ') + s[1].toFixed(3) + ' to ' + s[2].toFixed(3) + ' ms (' + (s[2] - s[1]).toFixed(3) + ')' : '';
  });
  new ResizeObserver(draw).observe(box); matchMedia('(prefers-color-scheme:dark)').addEventListener('change', draw); draw();
}
