/* Draw what a browser window shows as an SVG of shapes and text: no fonts, scripts or links to files.
 *
 * A canvas becomes an image in the SVG. Shadows, pseudo-elements, gradients and patterns are left out. */
() => {
  const [width, height] = [innerWidth, innerHeight];
  const shapes = [];
  const clips = new Map();
  const looks = new Map();
  const pen = document.createElement("canvas").getContext("2d");

  const short = (number) => String(+number.toFixed(1));
  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const isClear = (colour) => colour === "none" || /^url|, 0\)$|\/ 0\)$/.test(colour) || colour === "transparent";
  const attributes = (values) =>
    Object.entries(values)
      .filter(([, value]) => value !== "" && value !== undefined)
      .map(([name, value]) => ` ${name}="${escaped(typeof value === "number" ? short(value) : value)}"`)
      .join("");

  /** The part of the window that two rectangles share. */
  const overlap = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });
  const isEmpty = (box) => box.right - box.left < 0.5 || box.bottom - box.top < 0.5;

  /** Add a shape that covers `box`, cut off at `clip`. */
  const add = (name, values, box, clip, content = "") => {
    const seen = overlap(box, clip);
    if (isEmpty(seen)) return;
    const isCut = ["left", "top", "right", "bottom"].some((side) => Math.abs(seen[side] - box[side]) > 1);
    const close = content === "" ? "/>" : `>${content}</${name}>`;
    const shape = `<${name}${attributes(values)}${close}`;
    shapes.push(isCut ? `<g clip-path="url(#${clipName(clip)})">${shape}</g>` : shape);
  };
  const clipName = (box) => {
    const key = [box.left, box.top, box.right - box.left, box.bottom - box.top].map(short).join(" ");
    if (!clips.has(key)) clips.set(key, `c${clips.size}`);
    return clips.get(key);
  };
  const lookName = (css) => {
    if (!looks.has(css)) looks.set(css, `t${looks.size}`);
    return looks.get(css);
  };

  const paint = (element, clip, opacity) => {
    const style = getComputedStyle(element);
    const shown = opacity * style.opacity;
    if (style.display === "none" || style.clipPath !== "none" || shown < 0.05) return;
    const box = element.getBoundingClientRect();
    const isVisible = style.visibility === "visible";
    if (element instanceof SVGElement) {
      if (isVisible) for (const part of [element, ...element.querySelectorAll("*")]) graphic(part, clip, shown);
      return;
    }
    if (isVisible) paintBox(element, style, box, clip, shown);
    if (isVisible && element instanceof HTMLCanvasElement) picture(element, box, clip);
    const inner = style.overflow === "visible" ? clip : overlap(box, clip);
    if (isEmpty(inner)) return;
    if (isVisible) control(element, style, box, inner);
    const layer = (child) => {
      if (!(child instanceof Element)) return 0;
      const { position, zIndex } = getComputedStyle(child);
      return position === "static" ? 0 : zIndex === "auto" ? 0.5 : +zIndex + 0.5;
    };
    const children = [...element.childNodes].map((child) => [layer(child), child]);
    for (const [, child] of children.sort((a, b) => a[0] - b[0])) {
      if (child instanceof Element) paint(child, inner, shown);
      else if (child instanceof Text && isVisible) text(child, style, inner, shown);
    }
  };

  const paintBox = (element, style, box, clip, opacity) => {
    const radius = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
      width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
      colour: style[`border${side}Color`],
    }));
    const isEven = sides.every((side) => side.width === sides[0].width && side.colour === sides[0].colour);
    const hasBorder = sides[0].width > 0 && !isClear(sides[0].colour);
    const fill = isClear(style.backgroundColor) ? "none" : style.backgroundColor;
    const edge = isEven && hasBorder ? sides[0].width / 2 : 0;
    if (fill !== "none" || edge > 0) {
      const place = { x: box.left + edge, y: box.top + edge, width: box.width - 2 * edge, height: box.height - 2 * edge };
      const line = edge > 0 ? { stroke: sides[0].colour, "stroke-width": sides[0].width } : {};
      add("rect", { ...place, rx: radius || "", fill, ...line, opacity: opacity < 1 ? opacity : "" }, box, clip);
    }
    if (isEven) return;
    const ends = [
      [box.left, box.top, box.right, box.top],
      [box.right, box.top, box.right, box.bottom],
      [box.left, box.bottom, box.right, box.bottom],
      [box.left, box.top, box.left, box.bottom],
    ];
    sides.forEach((side, index) => {
      if (side.width === 0 || isClear(side.colour)) return;
      const [x1, y1, x2, y2] = ends[index];
      add("line", { x1, y1, x2, y2, stroke: side.colour, "stroke-width": side.width }, box, clip);
    });
  };

  const SHAPES = ["path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text"];
  const OWN = ["d", "x", "y", "width", "height", "rx", "cx", "cy", "r", "ry", "x1", "y1", "x2", "y2", "points"];
  const graphic = (part, clip, opacity) => {
    if (!SHAPES.includes(part.localName) || part.closest("defs, marker, pattern, clipPath")) return;
    const style = getComputedStyle(part);
    if (style.display === "none" || style.visibility !== "visible") return;
    const fill = isClear(style.fill) ? "none" : style.fill;
    const stroke = isClear(style.stroke) ? "none" : style.stroke;
    const shown = opacity * style.opacity;
    if ((fill === "none" && stroke === "none") || shown < 0.05) return;
    const { a, b, c, d, e, f } = part.getScreenCTM();
    const values = { transform: `matrix(${[a, b, c, d].map((v) => +v.toFixed(3)).join(" ")} ${short(e)} ${short(f)})` };
    for (const name of OWN) values[name] = part.getAttribute(name) ?? "";
    const fillOpacity = style.fillOpacity * shown;
    Object.assign(values, { fill, "fill-opacity": fillOpacity < 1 ? String(fillOpacity) : "" });
    if (stroke !== "none") {
      const dash = style.strokeDasharray === "none" ? "" : style.strokeDasharray;
      const line = { stroke, "stroke-width": parseFloat(style.strokeWidth), "stroke-dasharray": dash };
      const strokeOpacity = style.strokeOpacity * shown;
      Object.assign(values, line, { "stroke-opacity": strokeOpacity < 1 ? String(strokeOpacity) : "" });
      if (style.strokeLinecap !== "butt") values["stroke-linecap"] = style.strokeLinecap;
      if (style.strokeLinejoin !== "miter") values["stroke-linejoin"] = style.strokeLinejoin;
    }
    const box = part.getBoundingClientRect();
    const grown = { left: box.left - 1, top: box.top - 1, right: box.right + 1, bottom: box.bottom + 1 };
    if (part.localName !== "text") return add(part.localName, values, grown, clip);
    const order = stroke === "none" ? "" : `;paint-order:${style.paintOrder}`;
    const font = `font:${style.fontWeight} ${style.fontSize} ${style.fontFamily};text-anchor:${style.textAnchor}${order}`;
    add("text", { ...values, class: lookName(font) }, grown, clip, lines(part));
  };

  const lines = (part) => {
    const parts = [...part.children].map((line) => {
      const place = Object.fromEntries(["x", "y", "dy"].map((name) => [name, line.getAttribute(name) ?? ""]));
      return `<tspan${attributes(place)}>${escaped(line.textContent)}</tspan>`;
    });
    return parts.length > 0 ? parts.join("") : escaped(part.textContent);
  };

  const picture = (canvas, box, clip) => {
    const marks = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    if (!marks.some((value) => value > 0)) return;
    const place = { x: box.left, y: box.top, width: box.width, height: box.height };
    add("image", { ...place, href: canvas.toDataURL("image/png") }, box, clip);
  };

  /** Add the text of one text node, a run for each line. */
  const text = (node, style, clip, opacity) => {
    const range = document.createRange();
    let line = null;
    const lines = [];
    for (const word of node.data.matchAll(/\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      for (const rect of range.getClientRects()) {
        if (line !== null && Math.abs(line.top - rect.top) < 2) {
          line.right = Math.max(line.right, rect.right);
          line.words.push(word);
        } else {
          line = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom, words: [word] };
          lines.push(line);
        }
      }
    }
    for (const each of lines) {
      const [first, last] = [each.words[0], each.words.at(-1)];
      run(node.data.slice(first.index, last.index + last[0].length), style, each, clip, opacity);
    }
  };
  const run = (words, style, box, clip, opacity) => {
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = pen.measureText(words);
    const boxHeight = box.bottom - box.top;
    const size = (parseFloat(style.fontSize) * boxHeight) / (above + below);
    const slant = style.fontStyle === "italic" ? "italic " : "";
    const line = style.textDecorationLine === "underline" ? ";text-decoration:underline" : "";
    const look = `font:${slant}${style.fontWeight} ${short(size)}px ${style.fontFamily};fill:${style.color}${line}`;
    const place = { x: box.left, y: box.top + (boxHeight * above) / (above + below), textLength: box.right - box.left };
    const shown = { class: lookName(look), opacity: opacity < 1 ? opacity : "" };
    const transformed = style.textTransform === "uppercase" ? words.toUpperCase() : words;
    add("text", { ...place, ...shown }, box, clip, escaped(transformed.replace(/\s/g, " ")));
  };

  const accent = (style) => (style.accentColor === "auto" ? "#1f5fc4" : style.accentColor);

  /** Add what form fields and list items show besides their elements. */
  const control = (element, style, box, clip) => {
    if (element instanceof HTMLInputElement && element.type === "range") {
      const share = (element.value - element.min) / (element.max - element.min);
      const [x, y] = [box.left + 7 + share * (box.width - 14), (box.top + box.bottom) / 2];
      const track = { x: box.left, y: y - 2.5, width: box.width, height: 5, rx: 2.5 };
      add("rect", { ...track, fill: accent(style) }, box, clip);
      add("circle", { cx: x, cy: y, r: 7, fill: accent(style) }, box, clip);
    } else if (element.localName === "progress") {
      const bar = { x: box.left, y: box.top + box.height / 2 - 1.5, height: 3, rx: 1.5 };
      add("rect", { ...bar, width: box.width, fill: "#c8ccd2" }, box, clip);
      add("rect", { ...bar, width: box.width * element.position, fill: accent(style) }, box, clip);
    } else if (element.localName === "input" || element.localName === "select") {
      const isChoice = element.localName === "select";
      const shown = isChoice ? `${element.selectedOptions[0]?.text ?? ""}` : element.value || element.placeholder;
      if (shown === "" || ["checkbox", "radio"].includes(element.type)) return;
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const measured = pen.measureText(shown);
      const [above, below] = [measured.fontBoundingBoxAscent, measured.fontBoundingBoxDescent];
      const top = (box.top + box.bottom - above - below) / 2;
      const left = box.left + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth) + (isChoice ? 4 : 0);
      const place = { left, top, right: left + measured.width, bottom: top + above + below };
      run(shown, style, place, clip, 1);
      if (isChoice) {
        const [x, y] = [box.right - 14, (box.top + box.bottom) / 2];
        add("path", { d: `M${short(x - 3)} ${short(y - 2)}l3 4 3 -4`, fill: "none", stroke: style.color, "stroke-width": 1.5 }, box, clip);
      }
    } else if (style.display === "list-item" && element.parentElement.localName === "ul") {
      const y = box.top + parseFloat(style.lineHeight) / 2;
      const dot = { left: box.left - 18, top: y - 3, right: box.left - 10, bottom: y + 3 };
      add("circle", { cx: box.left - 14, cy: y, r: 2.5, fill: style.color }, dot, clip);
    }
  };

  paint(document.body, { left: 0, top: 0, right: width, bottom: height }, 1);
  const boxes = [...clips].map(([key, name]) => {
    const [x, y, w, h] = key.split(" ");
    return `<clipPath id="${name}"><rect x="${x}" y="${y}" width="${w}" height="${h}"/></clipPath>`;
  });
  const rules = [...looks].map(([css, name]) => `.${name}{${css}}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}">`,
    `<style>text{white-space:pre}${escaped(rules.join("")).replaceAll("&#34;", "'")}</style>`,
    `<defs>${boxes.join("")}</defs>`,
    `<rect width="${width}" height="${height}" fill="${getComputedStyle(document.body).backgroundColor}"/>`,
    ...shapes,
    "</svg>\n",
  ].join("\n");
};
