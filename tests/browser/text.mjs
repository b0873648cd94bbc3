// Whether texts can be read: none lies on another, and none is cut off. What is folded is unfolded first; what scrolls by
// itself is read as far as it is in sight.

/** What is wrong with the texts of a page as it is now, at most a few. */
export async function unreadable(page) {
  return page.evaluate(() => {
    document.querySelectorAll("details:not(.menu)").forEach((one) => { one.open = true; });
    // Line boxes are higher than letters: only these may not touch.
    const LEADING = 0.2;
    const TOUCH_PX = 1;
    const wrong = [];

    // The part of a place that an element shows, and whether it hides the rest for good.
    function seen(place, element) {
      let { left, right, top, bottom } = place;
      let isCut = false;
      for (let at = element; at !== null && at !== document.documentElement; at = at.parentElement) {
        const { overflowX } = getComputedStyle(at);
        if (overflowX === "visible" || at instanceof SVGElement) continue;
        const box = at.getBoundingClientRect();
        if (overflowX !== "auto" && overflowX !== "scroll") {
          isCut ||= left < box.left - TOUCH_PX || right > box.right + TOUCH_PX || top < box.top - TOUCH_PX || bottom > box.bottom + TOUCH_PX;
        }
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      isCut ||= left < -TOUCH_PX || right > document.documentElement.clientWidth + TOUCH_PX;
      return { left, right, top, bottom, isCut };
    }

    const places = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      const element = node.parentElement;
      if (node.data.trim() === "" || !element.checkVisibility({ visibilityProperty: true })) continue;
      if (element.closest(".hidden, .skip, title, desc, option, script, noscript, style")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const { left, right, top, bottom, width, height } of range.getClientRects()) {
        if (width === 0) continue;
        const letters = { left, right, top: top + LEADING * height, bottom: bottom - LEADING * height };
        const place = { ...seen(letters, element), node, text: node.data.trim().slice(0, 40) };
        if (place.isCut) wrong.push(`cut off: ${place.text}`);
        if (place.right > place.left && place.bottom > place.top) places.push(place);
      }
    }
    places.sort((a, b) => a.top - b.top);
    places.forEach((one, at) => {
      for (let next = at + 1; next < places.length && places[next].top < one.bottom - TOUCH_PX; next += 1) {
        const other = places[next];
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - other.top;
        if (one.node !== other.node && across > TOUCH_PX && down > TOUCH_PX) wrong.push(`on each other: ${one.text} | ${other.text}`);
      }
    });
    return { checked: places.length, wrong: wrong.slice(0, 20) };
  });
}
