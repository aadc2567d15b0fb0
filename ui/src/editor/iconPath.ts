/** Icons as paths for a canvas. */
import { Children, isValidElement, type ReactNode } from "react";
import { iconShape, type IconName } from "./icons";

const paths = new Map<IconName, Path2D>();

/** The lines of an icon, 24 by 24. */
export function iconPath(name: IconName): Path2D {
  let path = paths.get(name);
  if (path === undefined) {
    path = new Path2D();
    append(path, iconShape(name));
    paths.set(name, path);
  }
  return path;
}

interface Shape {
  d?: string;
  x?: string;
  y?: string;
  width?: string;
  height?: string;
  rx?: string;
  cx?: string;
  cy?: string;
  r?: string;
  children?: ReactNode;
}

function append(path: Path2D, shape: ReactNode): void {
  if (!isValidElement<Shape>(shape)) return;
  const { type, props } = shape;
  const number = (text: string | undefined) => Number(text ?? 0);
  if (type === "path") path.addPath(new Path2D(props.d));
  else if (type === "rect") {
    path.roundRect(number(props.x), number(props.y), number(props.width), number(props.height), number(props.rx));
  } else if (type === "circle") {
    path.moveTo(number(props.cx) + number(props.r), number(props.cy));
    path.arc(number(props.cx), number(props.cy), number(props.r), 0, 2 * Math.PI);
  } else Children.forEach(props.children, (child) => append(path, child));
}
