"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);

  const stored = (value) => {
    try {
      if (value !== undefined) localStorage.setItem("hettest-theme", value);
      return localStorage.getItem("hettest-theme");
    } catch {
      return null; // a page from a file may have no storage
    }
  };

  const toggle = byId("theme");
  const paint = (theme) => {
    root.dataset.theme = theme;
    toggle.setAttribute("aria-pressed", String(theme === "dark"));
  };
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const preferred = () => (prefers.matches ? "dark" : "light");
  paint(stored() || preferred());
  prefers.addEventListener("change", () => stored() || paint(preferred()));
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    stored(theme);
    paint(theme);
  });

  const [find, outcome, level, found] = ["find", "outcome", "level", "found"].map(byId);
  let groups = null;
  const read = () =>
    Array.from(document.querySelectorAll(".items tbody"), (body) => {
      const [head, ...rows] = body.rows;
      return {
        body,
        rows: rows.map((row) => ({
          row,
          text: `${head.textContent}${row.cells[0].textContent.trim()} ${row.cells[5].textContent}`.toLowerCase(),
          outcome: row.cells[1].textContent.trim().replace(/^\S+ /, ""),
          level: row.cells[2].textContent.trim(),
        })),
      };
    });
  const filter = () => {
    groups ??= read();
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    let all = 0;
    for (const { body, rows } of groups) {
      let here = 0;
      for (const item of rows) {
        const fits =
          words.every((word) => item.text.includes(word)) &&
          (!outcome.value || (outcome.value === "!" ? item.outcome !== "passed" : item.outcome === outcome.value)) &&
          (!level || !level.value || item.level === level.value);
        item.row.hidden = !fits;
        here += fits;
      }
      body.hidden = !here;
      shown += here;
      all += rows.length;
    }
    found.textContent = `${shown} of ${all} items`;
  };
  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  for (const select of [outcome, level]) select?.addEventListener("change", filter);
  byId("filter").hidden = false;
})();
