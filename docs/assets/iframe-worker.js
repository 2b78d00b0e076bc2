/* SPDX-License-Identifier: Apache-2.0 */
/* Search for pages opened from the disk, where browsers refuse workers: runs the worker's script in a
 * hidden frame. Pages of a server keep the browser's own workers. */
"use strict";

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.documentElement.append(frame);
    this.scope = frame.contentWindow;
    this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.scope.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
    this.ready = this.load(url);
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const script = this.scope.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = reject;
      this.scope.document.documentElement.append(script);
    });
  }

  postMessage(data) {
    this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {}
}

if (location.protocol === "file:") window.Worker = FrameWorker;
