// The project's documents as data: fenced blocks, headings and tables, and answers they show.
//
// It owns the reading of Markdown and the comparison of an answer with the lines that a document
// shows of it. In a shown line `…` stands for any text, and `<name>` for one value wherever it
// stands; lines of an answer that are not shown do not matter.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { experimental_readRawConfig } from "wrangler";
import { inRoot } from "../../../scripts/lib/paths.mjs";

export const document = (name) => readFileSync(inRoot(name), "utf8");

/** The fenced blocks of a text: `{ info, text, heading }`, the heading being the last before it. */
export function blocks(text) {
  const found = [];
  let heading;
  let open;
  for (const line of text.split("\n")) {
    const [, indent, info] = /^( *)```(.*)$/.exec(line) ?? [];
    if (info !== undefined && open === undefined) {
      open = { info: info.trim(), lines: [], heading, indent: indent.length };
    } else if (info !== undefined) {
      found.push({ info: open.info, text: open.lines.join("\n"), heading: open.heading });
      open = undefined;
    } else if (open !== undefined) {
      open.lines.push(line.slice(open.indent));
    } else if (line.startsWith("#")) {
      heading = line.replace(/^#+ /, "");
    }
  }
  assert.equal(open, undefined, "every fence is closed");
  return found;
}

/** The words in code of a line. */
export const coded = (line = "") => [...line.matchAll(/`([^`]+)`/g)].map(([, word]) => word);

/** What stands below a heading, up to the next one of its level. */
export function section(text, title) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ /, "") === title && line[0] === "#");
  assert.ok(start >= 0, `there is a heading "${title}"`);
  const [level] = /^#+ /.exec(lines[start]);
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith(level));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join("\n");
}

/** TOML as wrangler reads it. */
export async function readToml(text) {
  const folder = await mkdtemp(join(tmpdir(), "oncegate-toml-"));
  try {
    const file = join(folder, "wrangler.toml");
    await writeFile(file, text);
    return experimental_readRawConfig({ config: file }).rawConfig;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares answers with what a document shows of them; one value for a `<name>` in all of them. */
export class Shown {
  #known = new Map();

  /** The pattern of a shown text, with the names whose values are not known yet. */
  #pattern(shown) {
    const names = [];
    const source = shown.replace(/<(\w+)>|…|[^<…]+|</g, (piece, name) => {
      if (piece === "…") return ".*";
      if (name === undefined) return piece.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
      if (this.#known.has(name)) return this.#known.get(name).replaceAll(".", "\\.");
      names.push(name);
      return "([\\w.-]+)";
    });
    return { pattern: new RegExp(`^${source}$`, "u"), names };
  }

  #fits(shown, real) {
    const { pattern, names } = this.#pattern(shown);
    const match = pattern.exec(real);
    names.forEach((name, n) => match && this.#known.set(name, match[n + 1]));
    return match !== null;
  }

  /** The output of a command has every shown line. */
  lines(shown, output) {
    for (const line of shown.split("\n")) {
      const found = output.split("\n").some((real) => this.#fits(line, real.trimEnd()));
      assert.ok(found, `no line is like "${line}":\n${output}`);
    }
  }

  /** An answer as `curl -i` prints it has the shown status, headers and members. */
  answer(shown, output) {
    const [head, ...body] = output.replaceAll("\r\n", "\n").split("\n\n");
    const [shownHead, ...shownBody] = shown.split("\n\n");
    const [status, ...headers] = head.trim().split("\n");
    const [shownStatus, ...shownHeaders] = shownHead.split("\n");
    assert.equal(status, shownStatus, output);
    const real = headers.map((line) => lowerName(line));
    for (const line of shownHeaders) {
      const found = real.some((header) => this.#fits(lowerName(line), header));
      assert.ok(found, `no header is like "${line}":\n${head}`);
    }
    if (shownBody.length === 0) return;
    this.#value(JSON.parse(shownBody.join("\n\n")), JSON.parse(body.join("\n\n")), "the body");
  }

  /** A value has everything that is shown of it. */
  #value(shown, real, where) {
    if (typeof shown === "string") {
      assert.equal(typeof real, "string", where);
      assert.ok(this.#fits(shown, real), `${where} is "${real}", not like "${shown}"`);
    } else if (typeof shown === "object" && shown !== null) {
      assert.equal(typeof real, "object", where);
      if (Array.isArray(shown)) assert.equal(real.length, shown.length, where);
      for (const [name, value] of Object.entries(shown)) {
        this.#value(value, real[name], `${where}.${name}`);
      }
    } else {
      assert.equal(real, shown, where);
    }
  }
}

function lowerName(header) {
  const end = header.indexOf(":");
  return header.slice(0, end).toLowerCase() + header.slice(end);
}
