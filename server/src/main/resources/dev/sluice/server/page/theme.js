// SPDX-License-Identifier: Apache-2.0
// Runs before the page is drawn, so that it does not flash in the wrong colours.
(() => {
  try {
    const kept = localStorage.getItem('sluice.theme');
    if (kept === 'light' || kept === 'dark') {
      document.documentElement.dataset.theme = kept;
    }
  } catch {
    // The browser forbids storage, so the system's colours are used.
  }
})();
