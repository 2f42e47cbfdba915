// Keeps the dashboard fresh: asks its own address again, and puts in what has changed. The page is whole without it.

const EVERY = 5_000;
const news = document.getElementById("news");
const say = (text) => news.textContent === text || (news.textContent = text);

/** The name of a part of the page that stays the same when numbers change: where it stands, and its own words. */
function nameOf(part) {
  const place = part.closest("section")?.querySelector("h2"), card = part.closest(".card")?.querySelector("h3");
  return [place, card, part.querySelector("summary")].map((each) => each?.textContent ?? "").join("\n");
}

function put(fresh) {
  const main = document.querySelector("main"), all = "a, summary, .scroll, select, button";
  const open = new Map([...main.querySelectorAll("details")].map((each) => [nameOf(each), each.open]));
  const across = new Map([...main.querySelectorAll(".scroll")].map((each) => [nameOf(each), each.scrollLeft]));
  const focus = [...main.querySelectorAll(all)].indexOf(document.activeElement), chosen = [...main.querySelectorAll("select")];
  const top = window.scrollY;
  main.replaceWith(fresh);
  for (const each of fresh.querySelectorAll("details")) each.open = open.get(nameOf(each)) ?? each.open;
  for (const each of fresh.querySelectorAll(".scroll")) each.scrollLeft = across.get(nameOf(each)) ?? 0;
  fresh.querySelectorAll("select").forEach((each, place) => { each.value = chosen[place]?.value ?? each.value; });
  if (focus >= 0) fresh.querySelectorAll(all)[focus]?.focus({ preventScroll: true });
  window.scrollTo({ top, behavior: "instant" });
}

async function look() {
  const busy = document.hidden || !document.getSelection().isCollapsed || document.activeElement?.matches("select");
  if (busy) return;
  try {
    const answer = await fetch(location.href, { cache: "no-cache", credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new Error(answer.status);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html"), fresh = page.querySelector("main[data-digest]");
    if (!fresh) throw new Error("another page");
    if (fresh.dataset.digest !== document.querySelector("main").dataset.digest) {
      put(document.adoptNode(fresh));
      document.title = page.title;
      document.querySelector("header p").textContent = page.querySelector("header p").textContent;
      say(`Numbers updated at ${new Date().toLocaleTimeString([], { timeStyle: "short" })}.`);
    } else if (news.dataset.trouble) {
      say("The collector answers again; nothing has changed.");
    }
    delete news.dataset.trouble;
  } catch {
    news.dataset.trouble = "yes";
    say("The collector does not answer; the numbers below may be old. Reload the page, and sign in again if asked to.");
  }
}

(async () => {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY));
    await look();
  }
})();
