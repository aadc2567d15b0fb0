/** Convert a lesson to HTML: Markdown, formulas, figures, hidden answers, and commands with a button.
 *
 *  Raw HTML in lessons is not passed on, although they come with the package: the only element allowed
 *  is <details>, which is parsed here.
 */

import MarkdownIt, { type StateBlock, type StateInline } from "markdown-it";
import temml from "temml";

export interface Command {
  /** "h1", "client", "mininet"; "" for a shell outside the laboratory. */
  place: string;
  line: string;
}

export interface Page {
  html: string;
  /** Commands by the number in data-command. */
  commands: Command[];
  /** Figures by the number in data-figure. */
  figures: string[];
}

/** A line of a block of commands; null if it has no prompt. */
export function commandOf(line: string): Command | null {
  const match = COMMAND.exec(line);
  return match ? { place: match[1] ?? match[2] ?? "", line: match[3]! } : null;
}

const COMMAND = /^(?:(mininet)>|([A-Za-z]\w*)?\$) (.+)$/;
/** Commands of a shell outside the laboratory that this page can perform. */
const OUTSIDE = /^wanlab lab (start|check)\b/;
const ANSWER = /^<details><summary>(.*?)<\/summary>$/;

/** Convert a lesson. `assets`: the URL of the files beside it. */
export function read(text: string, assets: string): Page {
  const commands: Command[] = [];
  const figures: string[] = [];
  const markdown = new MarkdownIt({ linkify: false });
  markdown.inline.ruler.after("escape", "formula", inlineFormula);
  const interrupts = { alt: ["paragraph", "reference", "blockquote", "list"] };
  markdown.block.ruler.before("fence", "formula", blockFormula, interrupts);
  markdown.block.ruler.before("fence", "answer", answer, interrupts);
  const escape = markdown.utils.escapeHtml;
  const rules = markdown.renderer.rules;
  rules["formula"] = (tokens, index) => formula(tokens[index]!.content, tokens[index]!.block);
  rules["answer_open"] = (tokens, index) => `<details><summary>${escape(tokens[index]!.content)}</summary>`;
  rules["answer_close"] = () => "</details>";
  rules["fence"] = (tokens, index) => {
    const { content, info } = tokens[index]!;
    if (info === "mermaid") {
      figures.push(content);
      return `<figure data-figure="${figures.length - 1}"><pre>${escape(content)}</pre></figure>`;
    }
    if (info === "console") return consoleBlock(content, commands, escape);
    return `<pre class="text" tabindex="0"><code>${escape(content)}</code></pre>`;
  };
  rules["heading_open"] = (tokens, index) => {
    const title = tokens[index + 1]?.content ?? "";
    return `<${tokens[index]!.tag} id="${escape(anchor(title))}">`;
  };
  rules["image"] = (tokens, index) => {
    const token = tokens[index]!;
    const file = encodeURIComponent(String(token.attrGet("src") ?? ""));
    return `<figure class="picture"><img src="${assets}/${file}" alt="${escape(token.content)}"></figure>`;
  };
  rules["link_open"] = (tokens, index) => {
    const href = String(tokens[index]!.attrGet("href") ?? "");
    const unit = /^\.\.\/(\w+)\/lesson\.md/.exec(href);
    if (unit) return `<a href="#" data-unit="${escape(unit[1]!)}">`;
    if (href.startsWith("#")) return `<a href="${escape(href)}" data-anchor="${escape(href.slice(1))}">`;
    return `<a title="${escape(href)}">`;
  };
  rules["th_open"] = (tokens, index) => (tokens[index + 1]?.content ? "<th>" : "<td>");
  rules["th_close"] = (tokens, index) => (tokens[index - 1]?.content ? "</th>" : "</td>");
  rules["table_open"] = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>';
  rules["table_close"] = () => "</table></div>";
  return { html: markdown.render(text), commands, figures };
}

/** The anchor of a heading, in the usual form of Markdown. */
export function anchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

function consoleBlock(content: string, commands: Command[], escape: (text: string) => string): string {
  const rows = content
    .trimEnd()
    .split("\n")
    .map((line) => {
      const command = commandOf(line);
      if (command === null) return `<div class="row"><code>${escape(line)}</code></div>`;
      const place = command.place;
      commands.push(command);
      const title = place === "" ? OUTSIDE.exec(command.line)?.[1] : "Type";
      const number = commands.length - 1;
      const prompt = place === "mininet" ? "mininet&gt;" : `${escape(place)}$`;
      return (
        `<div class="row" data-row="${number}"><span class="prompt">${prompt}</span> <code>${escape(command.line)}</code>` +
        `${button(title, number, escape(command.line))}</div>`
      );
    });
  return `<div class="console">${rows.join("")}</div>`;
}

function button(title: string | undefined, number: number, line: string): string {
  if (title === undefined) return "";
  const shown = title === "Type" ? title : title === "start" ? "Start" : "Check";
  return `<button type="button" data-command="${number}" aria-label="${shown} for me: ${line}">${shown}</button>`;
}

function formula(source: string, isBlock: boolean): string {
  return temml.renderToString(source, { displayMode: isBlock, throwOnError: false });
}

function inlineFormula(state: StateInline, isSilent: boolean): boolean {
  const match = /^\$(?![\s$])((?:\\.|[^\\$])*?(?:\\.|[^\s\\$]))\$(?!\d)/.exec(state.src.slice(state.pos));
  if (!match) return false;
  if (!isSilent) state.push("formula", "math", 0).content = match[1]!;
  state.pos += match[0].length;
  return true;
}

function blockFormula(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  const lineOf = (number: number) => state.getLines(number, number + 1, state.blkIndent, false).trim();
  if (!lineOf(start).startsWith("$$")) return false;
  let last = start;
  let text = lineOf(start).slice(2);
  while (!text.endsWith("$$") && last + 1 < end) text += `\n${lineOf(++last)}`;
  if (!text.endsWith("$$")) return false;
  if (isSilent) return true;
  const token = state.push("formula", "math", 0);
  token.block = true;
  token.content = text.slice(0, -2).trim();
  state.line = last + 1;
  return true;
}

function answer(state: StateBlock, start: number, _end: number, isSilent: boolean): boolean {
  const line = state.getLines(start, start + 1, state.blkIndent, false).trim();
  const opened = ANSWER.exec(line);
  if (!opened && line !== "</details>") return false;
  if (isSilent) return true;
  if (opened) state.push("answer_open", "details", 1).content = opened[1]!;
  else state.push("answer_close", "details", -1);
  state.line = start + 1;
  return true;
}
