/** Icons, drawn for wanlab: lines of one width in the colour of the text, 24 by 24. */
import type { ReactNode } from "react";

const SHAPES = {
  select: <path d="M6 3.5v15l4-3.6 2.7 5.8 2.6-1.2-2.7-5.7 5.4-.4z" />,
  host: (
    <>
      <rect x="3.5" y="4.5" width="17" height="11" rx="1.5" />
      <path d="M9 19.5h6M12 15.5v4" />
    </>
  ),
  bridge: (
    <>
      <rect x="2.5" y="6.5" width="19" height="11" rx="2" />
      <path d="M6 10.4h9m-2.2-2 2.2 2-2.2 2M18 13.8H9m2.2-2-2.2 2 2.2 2" />
    </>
  ),
  ovs: (
    <>
      <rect x="2.5" y="4.5" width="19" height="11" rx="2" />
      <path d="M6 8.4h9m-2.2-2 2.2 2-2.2 2M18 11.8H9m2.2-2-2.2 2 2.2 2" />
      <path d="M5 18.5h14M8 21h8" />
    </>
  ),
  router: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M12 10V5.4m-2 2 2-2 2 2M12 14v4.6m-2-2 2 2 2-2M4.6 12h5m-2-2 2 2-2 2M19.4 12h-5m2-2-2 2 2 2" />
    </>
  ),
  controller: (
    <>
      <path d="M12 2.8 20 7.4v9.2L12 21.2 4 16.6V7.4z" />
      <circle cx="12" cy="12" r="3.2" />
      <path d="M12 2.8v6M20 16.6l-5.2-3M4 16.6l5.2-3" />
    </>
  ),
  link: (
    <>
      <circle cx="5" cy="18.5" r="2.4" />
      <circle cx="19" cy="5.5" r="2.4" />
      <path d="M6.8 16.8 17.2 7.2" />
    </>
  ),
  frame: (
    <path d="M3.5 8.5v-3a1 1 0 0 1 1-1h3M16.5 4.5h3a1 1 0 0 1 1 1v3M20.5 15.5v3a1 1 0 0 1-1 1h-3M7.5 19.5h-3a1 1 0 0 1-1-1v-3M10.5 4.5h3M10.5 19.5h3M3.5 11v2.5M20.5 11v2.5" />
  ),
  label: <path d="M5 7.5V5h14v2.5M12 5v14M9.5 19h5" />,
  run: <path d="M7 4.5v15l12-7.5z" />,
  stop: <rect x="6" y="6" width="12" height="12" rx="1.5" />,
  undo: <path d="M8.5 5 4.5 9l4 4M5 9h9a5 5 0 0 1 0 10h-4" />,
  redo: <path d="m15.5 5 4 4-4 4M19 9h-9a5 5 0 0 0 0 10h4" />,
  fit: <path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5M9.5 9.5h5v5h-5z" />,
  plus: <path d="M12 5v14M5 12h14" />,
  minus: <path d="M5 12h14" />,
  warning: <path d="M12 4 2.8 19.5h18.4zM12 10v4.5M12 16.8v.4" />,
  close: <path d="m6 6 12 12M18 6 6 18" />,
  down: <path d="m6 9.5 6 6 6-6" />,
  up: <path d="m6 14.5 6-6 6 6" />,
  right: <path d="m9.5 6 6 6-6 6" />,
  light: (
    <>
      <circle cx="12" cy="12" r="4" />
      <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4" />
    </>
  ),
  dark: <path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z" />,
  folder: <path d="M3.5 6.5a1 1 0 0 1 1-1h4.8l2 2.5h8.2a1 1 0 0 1 1 1v8.5a1 1 0 0 1-1 1h-15a1 1 0 0 1-1-1z" />,
  file: <path d="M6 3.5h8l4.5 4.5v12.5H6zM14 3.5V8h4.5" />,
  picture: (
    <>
      <rect x="3.5" y="4.5" width="17" height="15" rx="1.5" />
      <path d="m4 17 5-5.5 4 4 2.5-2.5 4.5 4.5" />
      <circle cx="15.5" cy="9" r="1.5" />
    </>
  ),
  topology: (
    <>
      <circle cx="12" cy="5.5" r="2.5" />
      <circle cx="5.5" cy="18" r="2.5" />
      <circle cx="18.5" cy="18" r="2.5" />
      <path d="m10.8 7.8-4.1 7.9M13.2 7.8l4.1 7.9M8 18h8" />
    </>
  ),
  sequence: <path d="M4 4v16h16M7.5 17v-4M11 13.5v-4M14.5 10V6M18 14v-3.5" />,
  download: <path d="M12 4v11m-4-4 4 4 4-4M4.5 19.5h15" />,
  upload: <path d="M12 15V4M8 8l4-4 4 4M4.5 19.5h15" />,
  refresh: <path d="M19.5 12A7.5 7.5 0 1 1 17 6.4M17.5 3v4h-4" />,
  splitRight: <path d="M3.5 5.5h17v13h-17zM12 5.5v13M15 12h3m-1.2-1.2L18 12l-1.2 1.2" />,
  splitBelow: <path d="M3.5 5.5h17v13h-17zM3.5 12h17M12 14v3m-1.2-1.2L12 17l1.2-1.2" />,
  float: <path d="M3.5 8.5h12v11h-12zM8.5 8.5v-4h12v11h-5" />,
  tile: <path d="M3.5 4.5h7v7h-7zM13.5 4.5h7v7h-7zM3.5 14.5h7v5h-7zM13.5 14.5h7v5h-7z" />,
  stack: <path d="M3.5 8.5h17v11h-17zM5.5 5.5h13M3.5 8.5h7v3h10" />,
  larger: <path d="m7 10 5-5 5 5M12 5v9M5 19h14" />,
  smaller: <path d="m7 9 5 5 5-5M12 5v9M5 19h14" />,
  find: (
    <>
      <circle cx="10.5" cy="10.5" r="6" />
      <path d="m15 15 5.5 5.5" />
    </>
  ),
  marker: <path d="M6 20.5v-17M6 4.5h11l-2.5 3.5 2.5 3.5H6" />,
  now: <path d="m5 6 6 6-6 6M12 6l6 6-6 6M20.5 5v14" />,
  pause: <path d="M8 5.5v13M16 5.5v13" />,
  together: <path d="M3.5 4.5h8v6h-8zM3.5 14.5h8v5h-8zM15 7.5h5.5M15 17h5.5M18 7.5V17" />,
  terminal: (
    <>
      <rect x="2.5" y="4.5" width="19" height="15" rx="1.5" />
      <path d="m6 9 3.5 3L6 15M12 15.5h5" />
    </>
  ),
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES;

/** The lines of an icon, as elements of an SVG. */
export function iconShape(name: IconName): ReactNode {
  return SHAPES[name];
}

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {SHAPES[name]}
    </svg>
  );
}
