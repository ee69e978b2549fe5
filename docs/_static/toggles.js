// The theme's toggles of the navigation have no name, and say that they are none: a screen reader needs both.
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary")) {
    if (toggle.textContent.trim() === "") {
      const page = toggle.closest("li")?.querySelector("a")?.textContent.trim();
      toggle.setAttribute("aria-label", page ? `Pages below ${page}` : "Pages below");
    }
  }
});
