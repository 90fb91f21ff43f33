// Relay's own script: live updates, times, copying, shortcuts. Every page works without it.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // --- Time: counted on the server's clock, so a wrong laptop clock does no harm -------------
  let skew = Date.parse(root.dataset.now) - Date.now();
  const now = () => Date.now() + skew;
  const UNITS = [[86400, "day", "days"], [3600, "h", "h"], [60, "min", "min"], [1, "s", "s"]];
  const unit = (count, [, one, many]) => (count ? `${count} ${count === 1 ? one : many}` : "");

  function span(seconds, parts) {
    for (let i = 0; i < UNITS.length; i++) {
      const [size] = UNITS[i];
      if (seconds < size) continue;
      const rest = UNITS[i + 1] && parts > 1 ? Math.floor((seconds % size) / UNITS[i + 1][0]) : 0;
      return `${unit(Math.floor(seconds / size), UNITS[i])} ${rest ? unit(rest, UNITS[i + 1]) : ""}`.trim();
    }
    return "0 s";
  }

  function tell(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  // Lists show distances; `t` shows the moments behind them instead, and back.
  let absolute = false;

  function tick() {
    for (const it of all("[data-until]")) {
      tell(it, span(Math.max(0, Math.round((Date.parse(it.dataset.until) - now()) / 1000)), 2));
    }
    for (const it of all("[data-ago]")) {
      if (absolute && it.title) {
        tell(it, it.title);
        continue;
      }
      const past = Math.round((now() - Date.parse(it.dateTime)) / 1000);
      const words = span(Math.abs(past), 1);
      tell(it, Math.abs(past) < 1 ? "just now" : past > 0 ? `${words} ago` : `in ${words}`);
    }
  }
  setInterval(tick, 1000);

  if (!/(^|; )relay-zone=/.test(document.cookie)) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const secure = location.protocol === "https:" ? "; secure" : "";
    if (zone) document.cookie = `relay-zone=${zone}; path=/; max-age=31536000; samesite=lax${secure}`;
  }

  // --- Live updates ---------------------------------------------------------------------------
  let paused = false;
  let misses = 0;

  function showLive() {
    const live = $("live");
    const button = $("live-pause");
    if (!live || !button) return;
    button.hidden = false;
    live.classList.toggle("paused", paused);
    live.classList.toggle("troubled", misses > 1 && !paused);
    tell(button, paused ? "Resume" : "Pause");
    tell(live.querySelector("[data-live-word]"),
      paused ? "Paused" : !navigator.onLine ? "Offline" : misses > 1 ? "Updates lost – retrying" : "Live");
  }

  function wake() {
    document.body.dispatchEvent(new CustomEvent("relay:wake"));
  }

  function asOf(xhr) {
    const date = Date.parse(xhr.getResponseHeader("Date") || "");
    // The header has whole seconds: correct the clock only where it is off by more than that.
    if (date && Math.abs(date - now()) > 2000) skew = date - Date.now();
    const mark = document.querySelector("[data-as-of]");
    if (mark && date) tell(mark, new Date(now()).toLocaleTimeString("en-GB", clockZone()));
  }

  function clockZone() {
    const found = /(?:^|; )relay-zone=([^;]+)/.exec(document.cookie);
    return { timeZone: found ? decodeURIComponent(found[1]) : "UTC" };
  }

  const isPoll = (event) => event.detail.elt.id === "live" || event.detail.elt.id === "no-workers";

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isPoll(event) && (document.hidden || paused || document.querySelector("dialog[open]"))) {
      event.preventDefault();
    }
    // Too little typed to look for.
    const { least } = event.detail.elt.dataset;
    const typed = least ? event.detail.elt.value.trim().length : 0;
    if (typed && typed < Number(least)) event.preventDefault();
    if (event.detail.elt.matches("form")) busy(event.detail.elt, true);
  });
  document.addEventListener("visibilitychange", () => document.hidden || wake());
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, xhr, successful, failed } = event.detail;
    if (elt.matches("form")) busy(elt, false);
    if (isPoll(event)) {
      misses = successful ? 0 : misses + 1;
      if (successful) asOf(xhr);
    }
    if (failed && xhr.status === 0 && !isPoll(event)) problem("The network is away. Nothing was sent; try again.");
    showLive();
  });

  function busy(form, on) {
    const button = form.querySelector("button:not([type=button])");
    if (button) button.toggleAttribute("aria-busy", on);
    if (button && on) button.setAttribute("aria-busy", "true");
  }

  // --- What is swapped in -----------------------------------------------------------------------
  function problem(text) {
    const box = document.createElement("div");
    box.className = "banner";
    box.dataset.tone = "bad";
    box.append(Object.assign(document.createElement("div"), { textContent: text }));
    $("problem").replaceChildren(box);
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status < 400) {
      if (xhr.status !== 204) $("problem").replaceChildren();
      return;
    }
    // A platform's own error page must not land in ours.
    if (!xhr.getResponseHeader("X-Relay-Fragment")) {
      event.detail.shouldSwap = false;
      if (!isPoll(event)) {
        problem(`Relay did not answer (${xhr.status}). We do not know whether it was done – look before you repeat it.`);
      }
    } else if (isPoll(event)) {
      event.detail.shouldSwap = false;
    }
  });
  document.addEventListener("htmx:sendError", showLive);
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const same = target.id === "say" && target.textContent === fragment.textContent;
    if (same || (target.id === "say" && !fragment.textContent.trim())) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const dialog = event.detail.target.id === "dialog-host" && $("dialog-host").querySelector("dialog");
    if (dialog) dialog.showModal();
    dress();
  });
  window.addEventListener("offline", () => { misses = 2; showLive(); });
  window.addEventListener("online", wake);

  // --- Copying ------------------------------------------------------------------------------------
  async function copy(button) {
    const source = $(button.dataset.copy);
    try {
      // What is shown may be indented or cut: some things are copied as they are stored.
      const text = button.dataset.whole
        ? await (await fetch(button.dataset.whole)).text() : source.value ?? source.textContent;
      await navigator.clipboard.writeText(text);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      return;
    }
    const label = button.querySelector("span");
    button.classList.add("done");
    if (label) label.textContent = "Copied";
    $("say").textContent = "Copied";
    setTimeout(() => {
      button.classList.remove("done");
      if (label) label.textContent = "Copy";
      $("say").textContent = "";
    }, 2000);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(button);
    if ("livePause" in button.dataset) {
      paused = !paused;
      showLive();
      if (!paused) wake();
    }
    if (button.getAttribute("aria-disabled") === "true") event.preventDefault();
  });

  // --- Ticking rows ------------------------------------------------------------------------------
  function count() {
    const mark = document.querySelector("[data-picked]");
    if (mark) tell(mark, String(all('input[name="id"][form="pick"]:checked').length));
  }

  document.addEventListener("change", (event) => {
    if (event.target.getAttribute("form") !== "pick") return;
    const boxes = all('input[name="id"][form="pick"]');
    const page = document.querySelector("[data-pick-page]");
    if (event.target === page) for (const box of boxes) box.checked = page.checked;
    else page.checked = false;
    count();
  });
  document.addEventListener("reset", () => setTimeout(count));

  // A deletion waits for the name. Without script the server asks for it.
  function lock(field) {
    const closed = field.value.trim() !== field.dataset.unlocks;
    field.form.querySelector("button").setAttribute("aria-disabled", String(closed));
    field.form.querySelector("[data-why]").hidden = !closed;
  }

  document.addEventListener("input", (event) => {
    if ("unlocks" in event.target.dataset) lock(event.target);
  });

  // A second press of a plain form is the same press. A cancelled one may be tried again.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.hasAttribute("hx-post") || form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
    setTimeout(() => delete form.dataset.sent, 4000);
  });

  // --- Small things that each page may have ---------------------------------------------------------
  function dress() {
    showLive();
    count();
    tick();
    all("[data-unlocks]").forEach(lock);
    for (const it of all("[data-hide-after]:not([data-armed])")) {
      it.dataset.armed = "1";
      setTimeout(() => {
        const code = document.createElement("code");
        code.textContent = "whsec_••••••••••••••••••••••••";
        it.replaceChildren(code);
        $("say").textContent = "The secret is hidden again.";
      }, Number(it.dataset.hideAfter) * 1000);
    }
  }

  // A form that stays on the page needs a fresh one-time id for its next press.
  document.addEventListener("htmx:afterRequest", (event) => {
    for (const field of all("input[data-fresh]", event.detail.elt)) {
      field.value = [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");
    }
  });

  // --- Shortcuts --------------------------------------------------------------------------------------
  const PLACES = { o: "Overview", e: "Endpoints", v: "Events", d: "Deliveries", w: "Workers", s: "Settings" };
  let going = 0;
  let row = -1;

  function go(key) {
    const link = all(".nav a").find((a) => a.textContent.trim() === PLACES[key]);
    if (link) link.click();
  }

  function move(step) {
    const rows = all("table[data-rows] tbody tr");
    if (!rows.length) return;
    rows[row]?.classList.remove("at");
    row = Math.min(rows.length - 1, Math.max(0, row + step));
    rows[row].classList.add("at");
    rows[row].querySelector("a")?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || root.dataset.shortcuts === "off") return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const { key } = event;
    if (Date.now() - going < 1200 && PLACES[key]) {
      going = 0;
      event.preventDefault();
      go(key);
    } else if (key === "g") {
      going = Date.now();
    } else if (key === "/" && $("find")) {
      event.preventDefault();
      $("find").focus();
    } else if (key === "?" && $("shortcuts")) {
      $("shortcuts").showModal();
    } else if (key === "j" || key === "k") {
      move(key === "j" ? 1 : -1);
    } else if (key === "x" && row >= 0) {
      all("table[data-rows] tbody tr")[row]?.querySelector('input[type="checkbox"]')?.click();
    } else if (key === "r" && $("retry")) {
      $("retry").focus();
    } else if (key === "t") {
      absolute = !absolute;
      tick();
    } else if (key === "p" && $("live-pause")) {
      $("live-pause").click();
    }
  });

  dress();
  const summary = $("summary");
  if (summary) summary.focus();
})();
