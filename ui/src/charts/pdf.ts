/** Write a figure as PDF (ISO 32000-1): one page, with the Helvetica that every reader has. */
import { drawingOf, type Figure, type Line, type Text } from "./figure";

/** Widths of Helvetica's letters in thousandths, from its AFM file; other letters are about as wide as digits. */
const WIDTHS: Readonly<Record<string, number>> = {
  " ": 278, ".": 278, ",": 278, ":": 278, "-": 333, "/": 278, "(": 333, ")": 333, "·": 278,
  i: 222, j: 222, l: 222, t: 278, f: 278, I: 278, r: 333, s: 500, c: 500, k: 500, v: 500, x: 500, y: 500, z: 500, J: 500,
  m: 833, w: 722, M: 833, W: 944, G: 778, O: 778, Q: 778, C: 722, D: 722, H: 722, N: 722, R: 722, U: 722, T: 611, F: 611, L: 556,
  A: 667, B: 667, E: 667, K: 667, P: 667, S: 667, V: 667, X: 667, Y: 667, Z: 611,
}; // prettier-ignore
const USUAL_WIDTH = 556;

export function pdfOf(figure: Figure): Blob {
  const { width, height, lines, curves, texts, clip } = drawingOf(figure);
  const up = (y: number) => near(height - y);
  const content = [
    ...lines.map((line) => stroke(line, up)),
    `q ${near(clip.x)} ${up(clip.y + clip.height)} ${near(clip.width)} ${near(clip.height)} re W n`,
    ...curves.map((line) => stroke(line, up)),
    "Q",
    ...texts.map((text) => show(text, up)),
  ].join("\n");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
  ];
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  file += offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  // One byte for each character, which is what the offsets count.
  const bytes = Uint8Array.from(file, (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type: "application/pdf" });
}

function near(value: number): string {
  return String(+value.toFixed(2));
}

function stroke({ points, colour, width, dash }: Line, up: (y: number) => string): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const way = [`${near(first[0])} ${up(first[1])} m`, ...rest.map(([x, y]) => `${near(x)} ${up(y)} l`)].join(" ");
  return `${rgb(colour)} RG ${width} w [${dash.join(" ")}] 0 d ${way} S`;
}

function show({ x, y, text, size, anchor, isBold, isUpright }: Text, up: (y: number) => string): string {
  const letters = latin(text);
  const width = ([...letters].reduce((sum, letter) => sum + (WIDTHS[letter] ?? USUAL_WIDTH), 0) / 1000) * size;
  const back = anchor === "end" ? width : anchor === "middle" ? width / 2 : 0;
  const place = isUpright ? `0 1 -1 0 ${near(x)} ${up(y + back)} Tm` : `1 0 0 1 ${near(x - back)} ${up(y)} Tm`;
  return `BT 0.13 g /F${isBold ? 2 : 1} ${size} Tf ${place} (${letters.replace(/[\\()]/g, "\\$&")}) Tj ET`;
}

/** A text in the letters that the font has. */
function latin(text: string): string {
  return text
    .replace(/→/g, "->")
    .replace(/[–—]/g, "-")
    .replace(/[^\x20-\x7e\xa0-\xff]/g, "?");
}

/** "hsl(215 70% 42%)" or "#222222" as PDF writes colours. */
export function rgb(colour: string): string {
  const hsl = /^hsl\((\d+) (\d+)% (\d+)%\)$/.exec(colour);
  if (hsl === null) {
    const hex = /^#(..)(..)(..)$/.exec(colour);
    return hex === null
      ? "0 0 0"
      : hex
          .slice(1)
          .map((part) => near(Number.parseInt(part, 16) / 255))
          .join(" ");
  }
  const [hue, saturation, light] = [Number(hsl[1]), Number(hsl[2]) / 100, Number(hsl[3]) / 100];
  // CSS Color 4, section 7.1
  const channel = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(at - 3, 9 - at, 1));
  };
  return [0, 8, 4].map((offset) => near(channel(offset))).join(" ");
}
