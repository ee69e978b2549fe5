// Light or dark before anything is painted. Not a module: modules wait until the page has been read.
try {
  const chosen = localStorage.getItem("baserate-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden: then the system decides */ }
