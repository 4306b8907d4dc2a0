// The end of what a process wrote, read on from where the last reading ended.

import * as api from "./api.js";

export class Output {
  /** Keeps about the last `keep` characters, whole lines; asks for at most `limit` bytes at a time. */
  constructor(id, keep, limit) {
    Object.assign(this, { id, keep, limit, process: null, next: undefined, total: 0, text: "", line: "", whole: true });
  }

  async readOn() {
    let got = await api.log(this.id, this.next, this.limit);
    // Too far behind to catch up in one reading: what a person looks at is the end, so go there.
    const jumps = this.next !== undefined && got.more;
    if (jumps) got = await api.log(this.id, undefined, this.limit);
    const gap = got.from !== (this.next ?? 0);
    this.text = gap ? got.text : this.text + got.text;
    this.whole = this.whole && !gap;
    this.trim();
    Object.assign(this, { process: got.process, next: got.next, total: got.total, line: got.line });
  }

  trim() {
    if (this.text.length <= this.keep) return;
    const cut = this.text.indexOf("\n", this.text.length - this.keep);
    this.text = this.text.slice(cut < 0 ? -this.keep : cut + 1);
    this.whole = false;
  }

  get shown() {
    return this.text + this.line;
  }

  /** The last lines, empty ones at the end left out. */
  lines(count) {
    return this.shown.trimEnd().split("\n").slice(-count).join("\n");
  }
}
