// What the report gains where scripts run: sorting, filtering, tooltips that read a whole column, a live table of contents.
(() => {
  "use strict";
  const make = (name, text, parent) => {
    const node = document.createElement(name);
    if (text) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };

  // What has very many rows comes between tabs; the table is made when somebody opens it, or follows the link of a part.
  const DRAWN = 2000;
  const tabled = (pre) => {
    const table = make("table"), [head, ...rows] = pre.textContent.split("\n").map((line) => line.split("\t"));
    table.className = "sortable";
    const titles = table.createTHead().insertRow(), body = table.createTBody();
    for (const name of head) make("th", name.replace("_", " "), titles).scope = "col";
    const fold = pre.closest("details"), outer = pre.closest(".scroll"), box = outer ?? make("div"), bar = make("label", "Show rows with ");
    box.className = "scroll";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    if (!outer) box.setAttribute("aria-label", fold?.querySelector("summary").textContent ?? "Rows");
    bar.className = "filter";
    bar.hidden = rows.length < 20;
    const input = make("input", "", bar), said = make("output", "", bar);
    input.type = "search";
    const draw = () => {  // every word must occur; of very many rows the first are drawn
      const words = input.value.toLowerCase().split(/\s+/);
      const kept = rows.filter((row) => { const text = row.join(" ").toLowerCase(); return words.every((word) => text.includes(word)); });
      body.replaceChildren();
      for (const row of kept.slice(0, DRAWN)) {
        const line = body.insertRow();
        for (const cell of row) { const td = line.insertCell(); td.textContent = cell; if (cell !== "" && Number.isFinite(Number(cell))) td.className = "num"; }
      }
      said.textContent = `${kept.length} of ${rows.length}${kept.length > DRAWN ? `, the first ${DRAWN} drawn` : ""}`;
    };
    input.addEventListener("input", draw);
    if (outer) outer.before(bar);
    pre.replaceWith(...(outer ? [table] : [bar, box]));
    if (!outer) box.append(table);
    draw();
    sortable(table);
  };
  document.querySelectorAll("pre.rows").forEach((pre) => {
    const fold = pre.closest("details:not([open])");
    fold ? fold.addEventListener("toggle", () => pre.isConnected && tabled(pre), { once: true }) : tabled(pre);
  });
  document.querySelectorAll("a.own").forEach((link) => link.addEventListener("click", () => {
    const fold = document.querySelector("#findings details"), pre = fold.querySelector("pre.rows");
    if (pre) tabled(pre);
    fold.open = true;
    const input = fold.querySelector(".filter input");
    input.value = link.dataset.find;
    input.dispatchEvent(new Event("input"));
  }));

  // Tables: a click on a heading (or Enter on its words) sorts; what was not measured stays at the end either way.
  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const meant = head.querySelector("a.meant");
      if (meant) meant.remove();
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button, ...(meant ? [meant] : []));
      head.addEventListener("click", (event) => {
        if (event.target.closest("a")) return;
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? null : Number(cell.dataset.v);
          return cell.classList.contains("num") && cell.textContent ? Number(cell.textContent) : cell.textContent;
        };
        const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
        const rows = [...body.rows].map((row, index) => [key(row), index, row]);
        rows.sort(([a, i], [b, j]) => {
          if (a === null || b === null) return (a === null) - (b === null) || i - j;
          return (down ? -1 : 1) * compare(a, b) || i - j;
        });
        body.append(...rows.map(([, , row]) => row));
      });
    });
  };
  document.querySelectorAll("table.sortable").forEach(sortable);

  // Plots: the nearest column of points says its numbers, under the pointer or under the arrow keys.
  document.querySelectorAll(".plot").forEach((box) => {
    const drawing = box.querySelector("svg[role=img]");
    const points = [...box.querySelectorAll(".hit")].map((dot) => {
      const says = dot.querySelector("title").textContent;
      dot.querySelector("title").remove();
      return { x: Number(dot.getAttribute("cx")), y: Number(dot.getAttribute("cy")), says };
    });
    if (!points.length) return;
    const columns = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
    let tip = null, line = null, at = -1;
    const hide = () => { tip?.remove(); line?.remove(); tip = line = null; at = -1; };
    const show = (index) => {
      if (index === at) return;
      hide();
      at = index;
      const here = points.filter((point) => point.x === columns[index]).sort((a, b) => a.y - b.y);
      const view = drawing.viewBox.baseVal, rect = drawing.getBoundingClientRect(), outer = box.getBoundingClientRect();
      line = document.createElementNS(drawing.namespaceURI, "line");
      for (const [name, value] of [["x1", columns[index]], ["x2", columns[index]], ["y1", 20], ["y2", view.height - 46], ["class", "cross"]]) line.setAttribute(name, value);
      drawing.append(line);
      tip = make("div", "", box);
      tip.className = "tip";
      tip.setAttribute("role", "status");
      for (const point of here) make("div", point.says, tip);
      const left = rect.left - outer.left + (columns[index] / view.width) * rect.width;
      const right = left + 14 + tip.offsetWidth > outer.width;
      tip.style.left = `${Math.max(0, right ? left - tip.offsetWidth - 12 : left + 12)}px`;
      tip.style.top = `${rect.top - outer.top + 8}px`;
    };
    drawing.tabIndex = 0;
    drawing.addEventListener("pointermove", (event) => {
      const rect = drawing.getBoundingClientRect();
      const x = ((event.clientX - rect.left) / rect.width) * drawing.viewBox.baseVal.width;
      show(columns.reduce((best, column, index) => (Math.abs(column - x) < Math.abs(columns[best] - x) ? index : best), 0));
    });
    drawing.addEventListener("pointerleave", hide);
    drawing.addEventListener("blur", hide);
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      show(Math.min(columns.length - 1, Math.max(0, at + step)));
    });
  });

  // Galleries: left and right step through the samples, up and down through subjects, attacks and ε of the same part.
  const boxes = [...document.querySelectorAll(".gallery")].filter((box) => box.children.length > 1 || box.closest("section").querySelectorAll(".gallery").length > 1);
  for (const box of boxes) {
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Pictures: arrow keys step through samples and through subjects, attacks and ε, Escape shows all");
    const show = (target, at) => {
      const strips = [...target.children], index = Math.min(Math.max(at, 0), strips.length - 1);
      const fold = target.closest("details");
      if (fold) fold.open = true;
      strips.forEach((strip, place) => { strip.hidden = place !== index; });
      target.dataset.at = index;
      target.classList.add("stepped");
      target.dataset.place = `${index + 1} of ${strips.length} · ← → samples, ↑ ↓ subject, attack, ε · Esc all`;
      if (target !== document.activeElement) target.focus();
    };
    box.addEventListener("keydown", (event) => {
      const at = Number(box.dataset.at ?? -1), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.key === "Escape") { for (const strip of box.children) strip.hidden = false; box.classList.remove("stepped"); delete box.dataset.at; return; }
      if (!step && !move) return;
      event.preventDefault();
      if (step) return show(box, at + step);
      const beside = [...box.closest("section").querySelectorAll(".gallery")], next = beside[beside.indexOf(box) + move];
      if (next) show(next, Math.max(at, 0));
    });
  }

  // Contents: where the reader is.
  const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash.slice(1), link]));
  if (links.size && "IntersectionObserver" in window) {
    const seen = new Set();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
      const first = [...links.keys()].find((id) => seen.has(id));
      if (!first) return;
      for (const [id, link] of links) id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    }, { rootMargin: "-8% 0px -55% 0px" });
    for (const id of links.keys()) { const section = document.getElementById(id); if (section) observer.observe(section); }
  }

  const unfold = () => { for (let at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1))); at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true; };
  addEventListener("hashchange", unfold);
  unfold();

  // A link into a folded part opens it; paper unfolds everything but the numbers behind plots.
  const folds = () => [...document.querySelectorAll("details.fold:not([open])")];
  let opened = [];
  addEventListener("beforeprint", () => { opened = folds(); for (const fold of opened) fold.open = true; });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
})();
