// The overview's figures, and what a page says when the engine does not answer.
"use strict";
(() => {
	let source = null;
	let heard = 0; // when figures came last

	// listen reads the figures as long as the page has any.
	const listen = () => {
		const tiles = document.hidden ? null : document.querySelector("[data-live]");
		if (source && source.tiles !== tiles) {
			source.close();
			source = null;
		}
		if (!tiles || source) {
			return;
		}
		source = new EventSource(tiles.dataset.live);
		source.tiles = tiles;
		heard = Date.now();
		source.onmessage = (event) => {
			heard = Date.now();
			lost("live-lost", false);
			const figures = JSON.parse(event.data);
			const at = document.getElementById("live-at");
			if (at) {
				at.textContent = figures.at.text;
			}
			for (const [name, figure] of Object.entries(figures)) {
				const tile = tiles.querySelector(`[data-tile="${name}"]`);
				if (tile) {
					tile.querySelector("dd").textContent = figure.text;
					tile.classList.toggle("bad", figure.bad);
				}
			}
		};
		source.onerror = () => {
			lost("live-lost", true);
			if (source && source.readyState === EventSource.CLOSED) { // refused, and not tried again by the browser
				source = null;
				setTimeout(listen, 10000);
			}
		};
	};

	const lost = (id, is) => {
		const text = document.getElementById(id);
		if (text) {
			text.hidden = !is;
		}
	};

	document.addEventListener("DOMContentLoaded", listen);
	document.addEventListener("visibilitychange", listen); // a page that nobody looks at holds no connection
	setInterval(() => {
		if (source && Date.now() - heard > 10000) {
			lost("live-lost", true);
		}
	}, 1000);
	// Only a page of the console takes this page's place: what was filled in stays otherwise.
	document.addEventListener("htmx:beforeSwap", (event) => {
		if (event.detail.xhr.getResponseHeader("X-Pixd-Console") === null) {
			event.detail.shouldSwap = false;
			lost("lost", true);
		}
	});
	document.addEventListener("htmx:afterSettle", (event) => {
		listen();
		const main = document.getElementById("content");
		if (event.detail.boosted && main && !main.contains(document.activeElement)) {
			main.focus({preventScroll: true});
		}
	});
	// The page stays as it is, with all that was filled in.
	for (const name of ["htmx:sendError", "htmx:timeout", "htmx:sendAbort"]) {
		document.addEventListener(name, () => {
			lost("lost", true);
			document.getElementById("lost").scrollIntoView({block: "nearest"});
		});
	}
	document.addEventListener("htmx:afterRequest", (event) => {
		if (event.detail.xhr && event.detail.xhr.getResponseHeader("X-Pixd-Console") !== null) {
			lost("lost", false);
		}
	});
})();
