// The link that was printed carries the token behind #, where no server and no log sees it.

function signIn() {
  const token = decodeURIComponent(location.hash.slice(1));
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  const field = /** @type {HTMLInputElement} */ (document.querySelector("input[name=token]"));
  field.value = token;
  field.form?.submit();
}

addEventListener("hashchange", signIn);
signIn();
