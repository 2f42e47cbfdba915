// Keeps the dashboard fresh: asks its own address again, and puts in what has changed. The page is whole without it.

const PAUSE = 5_000; // milliseconds
const FOCUSABLE = "a, summary, .scroll, select, button";

/** What a screen reader reads out when it changes. */
const news = /** @type {HTMLElement} */ (document.getElementById("news"));

/** @param {string} text */
function announce(text) {
  if (news.textContent !== text) news.textContent = text;
}

const currentMain = () => /** @type {HTMLElement} */ (document.querySelector("main"));

/**
 * The name of a part of the page that stays the same when numbers change: where it stands, and its own words.
 * @param {Element} part
 */
function nameOf(part) {
  const section = part.closest("section")?.querySelector("h2");
  const card = part.closest(".card")?.querySelector("h3");
  return [section, card, part.querySelector("summary")].map((title) => title?.textContent ?? "").join("\n");
}

/**
 * Put in fresh content, and leave as they were what is open, scrolled, chosen and has the focus.
 * @param {HTMLElement} fresh
 */
function replaceMain(fresh) {
  const main = currentMain();
  const isOpen = new Map(Array.from(main.querySelectorAll("details"), (part) => [nameOf(part), part.open]));
  const scrolled = new Map(Array.from(main.querySelectorAll(".scroll"), (part) => [nameOf(part), part.scrollLeft]));
  const chosen = Array.from(main.querySelectorAll("select"), ({ value }) => value);
  const focus = Array.from(main.querySelectorAll(FOCUSABLE)).findIndex((part) => part === document.activeElement);
  const top = window.scrollY;
  main.replaceWith(fresh);
  for (const part of fresh.querySelectorAll("details")) part.open = isOpen.get(nameOf(part)) ?? part.open;
  for (const part of fresh.querySelectorAll(".scroll")) part.scrollLeft = scrolled.get(nameOf(part)) ?? 0;
  for (const [i, select] of fresh.querySelectorAll("select").entries()) select.value = chosen[i] ?? select.value;
  if (focus >= 0) {
    const focused = /** @type {HTMLElement | undefined} */ (fresh.querySelectorAll(FOCUSABLE)[focus]);
    focused?.focus({ preventScroll: true });
  }
  window.scrollTo({ top, behavior: "instant" });
}

/** The dashboard as it is now; an error where another page answers, such as the one to sign in. */
async function fetchPage() {
  const response = await fetch(location.href, { cache: "no-cache", credentials: "same-origin" });
  if (!response.ok || response.redirected) throw new Error(`The collector answered with ${response.status}.`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const main = /** @type {HTMLElement | null} */ (page.querySelector("main[data-digest]"));
  if (!main) throw new Error("The collector answered with another page.");
  return { page, main };
}

async function refresh() {
  try {
    const { page, main } = await fetchPage();
    if (main.dataset.digest !== currentMain().dataset.digest) {
      replaceMain(document.adoptNode(main));
      document.title = page.title;
      const [header, freshHeader] = [document, page].map((each) => each.querySelector("header p"));
      if (header && freshHeader) header.textContent = freshHeader.textContent;
      announce(`Numbers updated at ${new Date().toLocaleTimeString([], { timeStyle: "short" })}.`);
    } else if (news.dataset.trouble) {
      announce("The collector answers again; nothing has changed.");
    }
    delete news.dataset.trouble;
  } catch {
    news.dataset.trouble = "yes";
    announce(
      "The collector does not answer; the numbers below may be old. Reload the page, and sign in again if asked to.",
    );
  }
}

/** Whether the person would notice a change: reads elsewhere, has selected text, or is about to choose. */
function isBusy() {
  const isSelecting = !document.getSelection()?.isCollapsed;
  return document.hidden || isSelecting || document.activeElement?.matches("select");
}

async function keepFresh() {
  for (;;) {
    await new Promise((done) => setTimeout(done, PAUSE));
    if (!isBusy()) await refresh();
  }
}

keepFresh();
